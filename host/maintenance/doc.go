// Package maintenance deletes: finished executions when a client says so ([Maintenance.Delete]) or
// when their retention has passed, and the receipts, locks and rows of former runs that nothing
// needs any more ([Sweeper]).
//
// Everything is written through the fenced writer of the host. Start reading at maintenance.go.
package maintenance
