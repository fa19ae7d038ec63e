// Package retention deletes what was over for long enough: finished executions, receipts and locks that no one
// holds ([Sweeper]).
//
// It imports host/faultpoint. What deletes is handed to it as a function.
package retention
