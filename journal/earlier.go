package journal

import "context"

// EarlierReader reads runs that were superseded.
//
// The name of an execution can be used again once its run has ended: a start may say that a new run
// takes the place of the finished one ([Write.Replace]). The finished run is superseded: its row
// stays, marked as such ([Execution.Superseded]), and keeps all that is keyed by the run or by its
// chain: journal, deferreds, links, published values, and messages that it has not taken.
//
// Invariants:
//
//  1. The finished run is superseded and the new one begins in one commit, which changes its row, deletes
//     its attributes and inserts the other, however long the finished one is.
//  2. The store decides which caller restarts: the write names the run that its caller has seen finished.
//     If another run is there by then, nothing takes effect, and the caller looks again. So of
//     any number of callers one starts, and the others find its run.
//  3. A run remembers the request that has started it ([Execution.Request]), for as long as it
//     is kept, also superseded. A request that is repeated finds its run and starts none.
//  4. A superseded run never changes again. Retention deletes it by the time at which it was
//     over, and not while a run that is not over may ask for it.
//
// Two things stay with the name. Receipts do: a request that the old run has answered is not received by the new one
// when it is repeated. And attributes belong to the current run: superseded ones are not found by them.
type EarlierReader interface {
	// Earlier lists superseded runs of an execution, newest first, at most limit, that come behind
	// the run whose Superseded is before: pass the last of the previous page, or 0. They are as in
	// a page of List.
	Earlier(ctx context.Context, id ID, before uint64, limit int) ([]Execution, error)
	// Requested reads the run of an execution that a request has started, be it superseded or not, as a brief row;
	// ErrNotFound if there is none.
	Requested(ctx context.Context, id ID, request Origin) (*Execution, error)
}
