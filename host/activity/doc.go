// Package activity runs the attempts of activities: in an instance of its own each, with SQL in a transaction, HTTP,
// configuration and real time, within a timeout.
//
// # The fate of an attempt
//
// An attempt without SQL ends in a [Report] that the execution journals when it delivers it: at least once. The
// statements of an attempt with SQL commit together with its journal entry, in one transaction: exactly once. That
// entry needs its place in the order of the journal before the transaction commits, so the attempt reserves one
// ([Task].Reserve) and reports its fate afterwards: [Committed], or [Task].Void.
//
// A transaction that collided with others, a store that fails and a host that cannot make an instance are not the
// activity's fault. The attempt is repeated and not counted; if it looks as if that would not help, the report is
// [Stuck]. The limit of time counts only while the host runs (host/timelimit).
//
// Whether a failed attempt is followed by another is decided in host/execution, because it must be journaled; after
// which delay, [abi.Retry] and [Backoff] say.
//
// The package imports host/catalog, host/decide, host/effects, host/wasm, host/budget, host/follow, host/guestlog,
// host/hoststate, host/timelimit, host/faultpoint, host/op, host/timer, host/metric, journal and abi. Start reading at
// runner.go, then attempt.go.
package activity
