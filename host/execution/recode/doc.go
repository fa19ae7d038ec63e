// Package recode tries executions on other code, and forks them.
//
// A [Recoder] replays the journal of an execution on the other code in an instance of its own, and
// writes nothing: the [Trial] says whether the journal fits, and where the execution would stand. The
// run that is moved commits that itself (host/execution/move.go). A fork is a start with the beginning
// of the journal of another execution: [Recoder.Fork] reads that (reader.go), tries it, and starts the
// fork through a [Starter].
//
// The package imports instance, rebuild, ledger, publish, request and largevalue beside it, budget,
// faultpoint, guest, message, program, replay and residency below it, journal and abi; never
// host/execution. Start reading at trial.go.
package recode
