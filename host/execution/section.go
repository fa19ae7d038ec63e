package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// enterTurn advances the ledger's section by a turn. It settles ops that the section does not
// allow. Withdrawn is the lock of a section that was ended before it was delivered: nothing is to
// be done for it any more.
func (l *ledger) enterTurn(delivered []journal.Entry, turn guest.Turn) (withdrawn []journal.StepID) {
	before := l.section
	l.section = before.After(delivered, turn.Issued, turn.Cancelled, l.ops.All())
	for _, o := range turn.Issued {
		l.refuse(o.StepID)
	}
	if !before.IsZero() && before.Step != l.section.Step && l.ops.Step(before.Step) != nil {
		l.refuse(before.Step)
		withdrawn = append(withdrawn, before.Step)
	}
	if before.Until != 0 && l.section.Until == 0 {
		for _, step := range l.ops.Steps() {
			l.unlocked(step)
		}
	}
	for _, o := range turn.Issued {
		l.unlocked(o.StepID)
	}
	return withdrawn
}

// unlocked gives an unlock its outcome, unless a section is about to end and has not yet.
func (l *ledger) unlocked(step journal.StepID) {
	o := l.ops.Step(step)
	if o != nil && o.Kind == abi.OpUnlock && !o.Settled() && l.section.Until == 0 {
		l.ops.Change(o.StepID, func(o *op.Op) { o.Settle(abi.Outcome{Value: abi.Nil}, 0, max(o.IssuedAt, l.clock)) })
	}
}

// waitsForLock tells whether an op belongs to a section which has not begun.
func (l *ledger) waitsForLock(o *op.Op) bool {
	return (o.Kind == abi.OpEntityCall || o.Kind == abi.OpEntitySend) && l.section.Of(o) != journal.StepID{} && l.ops.Step(l.section.Step) != nil
}

// enterReplayed takes over the section that a replay came to.
func (l *ledger) enterReplayed(s op.Section) {
	l.section = s
	for _, step := range l.ops.Steps() {
		l.refuse(step)
		l.unlocked(step)
	}
}

// refuse gives an op its outcome if the section does not allow it.
func (l *ledger) refuse(step journal.StepID) {
	o := l.ops.Step(step)
	if o == nil || o.Settled() || o.Kind != abi.OpCall && o.Kind != abi.OpLock {
		return
	}
	if err := l.section.Refuses(o, l.ops.All()); err != nil {
		l.ops.Change(step, func(o *op.Op) { o.Settle(abi.Outcome{Error: err}, 0, o.IssuedAt) })
	}
}

// rowSection returns the section to write to the row, given its current one. A granted section that
// is not in the row any more has ended, whatever the code believes: it was moved there, or its run
// is a fork.
func (l *ledger) rowSection(row journal.StepID) journal.StepID {
	if l.section.Step == row || l.ops.Step(l.section.Step) != nil {
		return l.section.Step
	}
	return journal.StepID{}
}

// makeUpSection writes the section of the run to the row, if the host ended before the commit that
// should have. It reports whether the run goes on.
func (r *run) makeUpSection() bool {
	var section journal.StepID
	var wake int64
	r.locked(func(l *ledger) { section, wake = l.rowSection(r.row.Section), l.ops.WakeAt() })
	if section == r.row.Section {
		return true
	}
	u := journal.Update{State: r.row.State, WakeAt: wake, Waiting: r.waitingNow(), Section: section}
	return r.commit("commit a section", journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &u}, batch{}, func() bool {
		r.applyUpdate(u)
		return true
	})
}

// passRelease tells the injector that the section of the row ends, if it does.
func (r *run) passRelease(point string, after journal.StepID) {
	if r.row.Section != after && r.row.Section != (journal.StepID{}) {
		r.execs.Fault.Pass(point)
	}
}

// setSection takes over the section of the row. Entities that the section before has locked are
// free.
func (r *run) setSection(section journal.StepID) {
	before := r.row.Section
	r.row.Section = section
	if before != section && before != (journal.StepID{}) {
		r.execs.Fault.Pass(faultpoint.ReleaseAfterCommit)
		r.execs.Entities.Unlocked(journal.Caller{ID: r.id, Run: r.row.Run, Step: before})
	}
}

// lock locks entities for a workflow. Locks acquired before a crash are still held.
func (t *task) lock(ctx context.Context, b *abi.Lock) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	failure, decided := t.execs.retryUntilDecided(ctx, "lock entities", func() error { return t.awaits(t.execs.Entities.Lock(ctx, t.row, step, b, t.left)) })
	if decided && !t.hasLeft {
		t.done(outcomeOf(abi.Nil, failure))
	}
}
