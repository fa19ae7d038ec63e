// Package metric makes the Prometheus metrics of the engine's rooms: one name space, one choice of buckets, and a
// registerer that may be nil.
//
// Each room declares its own metrics, in its metrics.go where there are several, and makes them here.
// docs/operations.md explains them to operators. The package imports nothing of Cruster.
package metric
