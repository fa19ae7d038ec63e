// Package stateless performs calls of entities without a state: each in an instance of its own, with its SQL in the
// transaction of its commit.
//
// The package imports call, commit, fault, instance, metrics, parked and target beside it, effects,
// faultpoint, hoststate, metric and timer below it, journal and abi; never host/entity.
package stateless
