package ledger

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// Ledger tracks the ops of a run and the order of its journal. It decides which completion is
// delivered when, and under which sequence number.
//
// Invariants:
//
//  1. A sequence number is assigned once, whatever becomes of it.
//  2. Entries are delivered in the order of their numbers. A number that a
//     transaction has reserved holds up all behind it until it is resolved.
//  3. Journal time never runs backwards.
//
// A ledger is a value without a clock, a lock or a store: its owner guards it.
type Ledger struct {
	seq       uint64 // last sequence number assigned
	turn      uint64 // last turn assigned
	clock     int64  // journal time last assigned
	delivered uint64 // sequence number of the last delivery that the guest saw
	frozen    bool   // no number is reserved any more

	reserved     map[uint64]struct{}              // numbers whose transaction is undecided
	ops          *op.Set                          // issued, neither delivered nor cancelled
	inbox        *message.Inbox                   // messages that are not done with
	results      []Result                         // of callees, to be given to their ops
	unwanted     []uint64                         // results in the inbox that no op waits for
	awaited      []journal.Envelope               // steps that wait for the run and have not started it
	committed    []journal.Entry                  // entries of transactions, to be delivered in order
	held         map[journal.StepID]journal.Entry // outcomes of steps that other code has come to
	heldAttempts map[journal.StepID]journal.Entry // known attempts of such steps
	attempts     []journal.Entry                  // failed attempts, to be committed with the next write
	section      op.Section                       // the critical section that the guest is in
}

// New returns the ledger of a run without a journal.
func New() *Ledger {
	return &Ledger{reserved: map[uint64]struct{}{}, ops: op.NewSet(), inbox: message.NewInbox(nil)}
}

// Ops are the pending ops: issued, and neither delivered nor given up.
func (l *Ledger) Ops() *op.Set { return l.ops }

// Undecided is how many reserved numbers wait for the outcome of their transaction.
func (l *Ledger) Undecided() int { return len(l.reserved) }

// Position is the last delivery that the guest saw, with the last turn and time assigned.
func (l *Ledger) Position() replay.Position {
	return replay.Position{Seq: l.delivered, Turn: l.turn, At: l.clock}
}

// Tick is the journal time of a new entry: it never runs backwards.
func (l *Ledger) Tick(now int64) int64 {
	l.clock = max(l.clock, now)
	return l.clock
}

// Reserve gives the transaction of an activity its place in the journal. It reports false if the op is no longer waited
// for.
func (l *Ledger) Reserve(step journal.StepID, value []byte, attempts uint32, now int64) (journal.Entry, bool) {
	o := l.ops.Step(step)
	if o == nil || o.Settled() || l.frozen {
		return journal.Entry{}, false
	}
	l.seq++
	l.turn++
	l.reserved[l.seq] = struct{}{}
	return journal.Entry{
		Kind: journal.Delivery, Seq: l.seq, Turn: l.turn, At: l.Tick(now), Op: o.Op, Attempts: attempts, Value: value,
	}, true
}

// IsNext tells whether the entry of a transaction that is still open, and that answers a step, is all there is to
// deliver.
func (l *Ledger) IsNext(entry journal.Entry, step journal.StepID) bool {
	_, undecided := l.reserved[entry.Seq]
	if !undecided || len(l.reserved) > 1 || l.frozen || l.ops.InHand() {
		return false
	}
	if len(l.committed)+len(l.attempts)+len(l.held)+len(l.heldAttempts) > 0 {
		return false
	}
	o := l.ops.Step(step) // other code has another number
	return o != nil && o.Number == entry.Op.Number && !o.Settled()
}

// Void says that a reserved number stays a gap.
func (l *Ledger) Void(seq uint64) { delete(l.reserved, seq) }

// Commit says that the transaction of a reserved number is durable.
func (l *Ledger) Commit(entry journal.Entry) {
	delete(l.reserved, entry.Seq)
	if o := l.ops.Numbered(entry.Op.Number); o != nil {
		l.ops.Change(o.StepID, func(o *op.Op) { o.Journaled = true })
	}
	l.committed = append(l.committed, entry)
}

// Complete gives an op the outcome that came to be at a time, if it is still waited for.
func (l *Ledger) Complete(step journal.StepID, outcome abi.Outcome, attempts uint32, at int64) {
	l.ops.Change(step, func(o *op.Op) { o.Settle(outcome, attempts, at) })
}

// Freeze has no number be reserved until Thaw is called, unless there are reserved numbers or
// outcomes in hand: then it does nothing, and reports which.
func (l *Ledger) Freeze() (undecided, inHand bool) {
	undecided, inHand = len(l.reserved) > 0, l.ops.InHand()
	l.frozen = !undecided && !inHand
	return undecided, inHand
}

// Thaw lets numbers be reserved again.
func (l *Ledger) Thaw() { l.frozen = false }

// Pending is the ops by number.
func (l *Ledger) Pending() map[uint32]*op.Op {
	pending := make(map[uint32]*op.Op, l.ops.Len())
	for o := range l.ops.All() {
		pending[o.Number] = o
	}
	return pending
}

// WaitingAfter returns the waiting state of the run once it has seen entries, as a replay will find
// it.
func (l *Ledger) WaitingAfter(seen []journal.Entry) journal.Waiting {
	seq := l.delivered
	if n := len(seen); n > 0 {
		seq = seen[n-1].Seq
	}
	return l.ops.Waiting(seq)
}

// Deadlocked tells whether a parked guest has no op left that could be delivered.
func (l *Ledger) Deadlocked() bool { return l.ops.Len() == 0 && len(l.reserved) == 0 }

// Forget drops everything but the assigned and the reserved numbers.
func (l *Ledger) Forget() {
	l.ops = op.NewSet()
	l.committed, l.attempts, l.held, l.heldAttempts = nil, nil, nil, nil
	l.section = op.Section{}
}

// UndeliveredBytes is how many bytes wait to be delivered, or to be committed.
func (l *Ledger) UndeliveredBytes() int64 {
	bytes := l.ops.ReadyBytes()
	for _, entries := range [][]journal.Entry{l.committed, l.attempts} {
		for i := range entries {
			bytes += op.Bytes(entries[i].Value, entries[i].Error)
		}
	}
	for i := range l.results {
		bytes += op.Bytes(l.results[i].Outcome.Value, l.results[i].Outcome.Error)
	}
	return bytes
}
