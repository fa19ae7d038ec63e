// Package request puts the requests of callers into the inboxes of executions: signals, updates,
// settlements of deferreds, and requests to stop.
//
// A request finds the row of its execution ([Rows]), is committed as a message and told to the run
// if that is in memory ([Sender]). The caller of an update then waits for its answer ([Updates]).
// Neither the code nor the memory of the execution is needed: the run handles its messages later.
// Senders and runs exclude each other by the [InboxLocks].
//
// The package knows runs as [Runs], and workflows as [Workflows]. It never imports host/execution.
//
// Start reading at send.go.
package request
