// Package starts starts the workflows that operations of entities have asked for. Each is a message in the inbox of
// its entity.
//
// The package imports call, commit, parked and target beside it, faultpoint and hoststate below it,
// journal and abi; never host/entity.
package starts
