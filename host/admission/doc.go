// Package admission decides whether a host takes on more work, and tells callers
// when to come back if it does not. Executions that are under way are never
// refused anything: they must be able to finish.
//
// Quotas and fair shares of namespaces are a concept of their own and have a room,
// host/quota, that this one is to ask through an interface. The package imports abi and
// nothing else of Cruster but host/metric.
package admission
