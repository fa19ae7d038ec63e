package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// commitAttempts makes failed attempts durable when no turn does so along the way. It reports whether they are.
func (r *run) commitAttempts() bool {
	if !sharedledger.Look(r.ledger, (*ledger.Ledger).OwesAttempts) {
		return true
	}
	o := r.attemptsOwed()
	r.deps.Fault.Pass(faultpoint.RetryBeforeCommit)
	return r.commitOrRetry(o)
}

// attemptsOwed returns the write of the attempts that are not journaled yet.
func (r *run) attemptsOwed() *pendingWrite {
	w := rowUpdate(
		r.row, &journal.Update{State: r.row.State, Waiting: r.row.Waiting, Section: r.row.Section},
	)
	r.ledger.With(func(l *ledger.Ledger) {
		w.Entries, w.Update.WakeAt = l.TakeAttempts(r.deps.now()), l.Ops().WakeAt()
	})
	return &pendingWrite{doing: "commit attempts", write: w, then: func() bool {
		r.row.WakeAt = w.Update.WakeAt
		r.deps.Fault.Pass(faultpoint.RetryAfterCommit)
		return true
	}}
}

// noteAttempt has an entry about an attempt committed with the next write.
func (r *run) noteAttempt(o *op.Op, kind journal.EntryKind, lost uint32) {
	r.ledger.With(func(l *ledger.Ledger) { l.NoteAttempt(o, kind, lost, r.deps.now()) })
}
