package journal

import (
	"context"
	"crypto/sha256"
)

// # Runs that came before
//
// The name of an execution can be used again once its run is over: a start may say that a new
// run takes the place of the finished one.
//
// Invariants:
//
//  1. The finished run goes aside and the new one begins in one commit. A crash leaves the one
//     or the other, never both under the name and never neither.
//  2. The store decides who restarts: the write names the run that its caller has seen finished
//     ([Write.Replace]). If another run is there by then, nothing takes effect, and the caller
//     looks again. So of any number of callers one starts, and the others find its run.
//  3. A run remembers the request that has started it ([Execution.Request]), for as long as it
//     is kept, also aside. A request that is repeated finds its run and starts none.
//  4. A run that went aside never changes again. Retention deletes it by the time at which it
//     was over, and not while a run that is not over may ask for it.
//
// What went aside is a row of its own, under an id that is made of its execution's and its
// chain's ([EarlierOf]); in the same shard, so that one fence guards both. All that is read by
// id is read of it in the same way: its row, journal, deferreds, links, what it published, and
// messages that it has not taken. Nothing else in the store needs to know of it: links and
// parents name chains and runs, which it keeps, and a sweep goes by the time of its end. The
// naive design, a number of the run in the key of each table, would have every read and every
// write of the journal name it, for what few executions ever have.
//
// Moving costs as much as the finished run has entries, as continuing does; others wait for it.
//
// Two things stay with the name. Receipts do: a request that the old run has answered is
// not received by the new one when it is repeated. And attributes are those of the newest run:
// what went aside is not found by them.

// EarlierOf is the id under which a run of an execution is kept that went aside: the last one
// of a chain.
func EarlierOf(id ID, chain RunID) ID {
	h := sha256.New()
	h.Write([]byte("cruster earlier run"))
	h.Write(id[:])
	h.Write(chain[:])
	aside := ID(h.Sum(nil)[:16])
	aside[0] = id[0] // the same shard
	return aside
}

// EarlierReader reads runs that went aside.
type EarlierReader interface {
	// Earlier lists runs of an execution that went aside, newest first, at most limit, that come
	// behind the place after in the order of (CreatedAt, ID): pass that of the last one of the page
	// before, or the zero Wake. They are as in a page of List.
	Earlier(ctx context.Context, id ID, after Wake, limit int) ([]Execution, error)
	// Requested reads the run of an execution that a request has started, be it aside or not;
	// ErrNotFound if there is none.
	Requested(ctx context.Context, id ID, request Origin) (*Execution, error)
}
