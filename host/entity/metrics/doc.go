// Package metrics counts the work on entities.
//
// The package imports call beside it, and metric.
package metrics
