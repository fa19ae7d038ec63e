package ledger

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// enterTurn advances the ledger's section by a turn. It settles ops that the section does not
// allow. Withdrawn is the lock of a section that was ended before it was delivered: nothing is to
// be done for it any more.
func (l *Ledger) enterTurn(delivered []journal.Entry, turn guest.Turn) (withdrawn []journal.StepID) {
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
func (l *Ledger) unlocked(step journal.StepID) {
	o := l.ops.Step(step)
	if o != nil && o.Kind == abi.OpUnlock && !o.Settled() && l.section.Until == 0 {
		l.ops.Change(o.StepID, func(o *op.Op) { o.Settle(abi.Outcome{Value: abi.Nil}, 0, max(o.IssuedAt, l.clock)) })
	}
}

// waitsForLock tells whether an op belongs to a section which has not begun.
func (l *Ledger) waitsForLock(o *op.Op) bool {
	return (o.Kind == abi.OpEntityCall || o.Kind == abi.OpEntitySend) && l.section.Of(o) != journal.StepID{} &&
		l.ops.Step(l.section.Step) != nil
}

// enterReplayed takes over the section that a replay came to.
func (l *Ledger) enterReplayed(s op.Section) {
	l.section = s
	for _, step := range l.ops.Steps() {
		l.refuse(step)
		l.unlocked(step)
	}
}

// refuse gives an op its outcome if the section does not allow it.
func (l *Ledger) refuse(step journal.StepID) {
	o := l.ops.Step(step)
	if o == nil || o.Settled() || o.Kind != abi.OpCall && o.Kind != abi.OpLock {
		return
	}
	if err := l.section.Refuses(o, l.ops.All()); err != nil {
		l.ops.Change(step, func(o *op.Op) { o.Settle(abi.Outcome{Error: err}, 0, o.IssuedAt) })
	}
}

// RowSection returns the section to write to the row, given its current one. A granted section that
// is not in the row any more has ended, whatever the code believes: it was moved there, or its run
// is a fork.
func (l *Ledger) RowSection(row journal.StepID) journal.StepID {
	if l.section.Step == row || l.ops.Step(l.section.Step) != nil {
		return l.section.Step
	}
	return journal.StepID{}
}

// SectionOf returns the step of the lock under which an op is performed, if it is in the section.
func (l *Ledger) SectionOf(o *op.Op) journal.StepID { return l.section.Of(o) }

// TakeUnbegun takes the ops for which the host has work to begin: those of a section which has not
// begun wait.
func (l *Ledger) TakeUnbegun() []*op.Op {
	return slices.DeleteFunc(l.ops.TakeUnbegun(), func(o *op.Op) bool {
		waits := l.waitsForLock(o)
		if waits {
			l.ops.GiveBack(o.StepID)
		}
		return waits
	})
}
