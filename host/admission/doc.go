// Package admission decides whether a host takes on more work, and tells callers when to come back if it does not.
// Executions that are under way are never refused anything: they must be able to finish.
//
// The package imports abi and nothing else of Cruster but host/metric.
package admission
