// Package launch begins runs of executions: a start by a client, a schedule or an entity, a start
// with a signal, a restart of a finished execution, a fork of any.
//
// Each of them goes the same way. The request is admitted; host/program finds the code and makes the
// row: the input and the key as the code has them, a new run. Then host/execution makes the row
// durable and runs it, or finds the execution that is there already. Executions begin the callees of
// their steps and their own next runs themselves, by the same functions of host/program and
// host/execution.
//
// Start reading at start.go.
package launch
