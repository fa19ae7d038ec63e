// Package task performs the pending ops of runs: activities, calls, signals, polls, requests to entities.
//
// A [Set] has the tasks of one run. The run asks it to start a task for each op that needs one
// ([Set.StartAll]), and to end those whose outcome it has or wants no more. A task works on a goroutine
// of its own, on copies of the op and the row, and tells the run what becomes of it in a [Report]. The
// [Performer] has what all tasks of a host share: the queues of activities and reads, the bytes of
// outcomes that no run has delivered yet (undelivered.go), and the starts of callees that are under way
// (starting.go).
//
// The package knows runs as [Runs], entities as [Entities] and the start of a callee as [Callees]. It
// imports ledger, sharedledger, request and largevalue beside it, activity, actor, budget, faultpoint,
// hostfault, hoststate, message, op and timer below it, journal and abi; never host/execution. Start
// reading at set.go.
package task
