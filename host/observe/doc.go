// Package observe reads executions for clients: one by its name or its run, a list, a description, a
// journal, published values, and the events of an execution as they happen. It changes nothing.
//
// Rows come from the store; host/execution adds the parts that only memory has: the pending ops of a run, and
// the end of an execution that a caller waits for.
//
// Start reading at find.go.
package observe
