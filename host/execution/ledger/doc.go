// Package ledger decides the meaning of a turn of a workflow.
//
// A [Ledger] tracks the ops of a run and the order of its journal. It says which completions the
// next turn delivers ([Ledger.Next]): a [Batch]. Once the guest has taken the turn, [Ledger.Decide]
// enters it, and returns a [Decision]: the write that makes the turn durable, the update of the
// row, the ops that the guest gave up, and the fate of messages.
//
// Everything here is a function of values. The package has no goroutine, no clock, no lock, no
// store and no instance of a guest; it imports the packages of the values that it decides about:
// op, message, replay, guest (for its turns), activity (for delays), journal and abi. The rules of
// single ops are in op, of messages in message. Start reading at ledger.go, then next.go and
// decide.go.
package ledger
