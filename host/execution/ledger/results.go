package ledger

import (
	"slices"

	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// giveResults gives results to the ops that wait for them. A run that waits for its own caller,
// which has ended and so given it up, was asked to stop before that.
func (l *Ledger) giveResults(row *journal.Execution) {
	run, asked := row.Run, row.Interrupt
	for _, res := range l.results {
		if asked != nil && asked.GivenUp && res.Callee == row.Parent.Run {
			res.At = max(res.At, asked.At+1)
		}
		given := false
		l.ops.Change(res.Step, func(o *op.Op) { given = res.settle(o, run) })
		if !given && res.Envelope != nil {
			l.unwanted = append(l.unwanted, res.Envelope.Position)
		}
	}
	l.results = nil
}

// TakeUnwanted hands over the positions of results that are to be dropped.
func (l *Ledger) TakeUnwanted() []uint64 {
	positions := l.unwanted
	l.unwanted = nil
	return positions
}

// KnowsResult tells whether a result is here already, or is to be dropped.
func (l *Ledger) KnowsResult(e journal.Envelope) bool {
	if slices.Contains(l.unwanted, e.Position) {
		return true
	}
	for i := range l.results {
		if of := l.results[i].Envelope; of != nil && of.Origin == e.Origin {
			return true
		}
	}
	o := l.ops.Step(e.From.Step)
	return o != nil && o.Message != nil && o.Message.Origin == e.Origin
}

// AddResult takes in the result of a callee, for the op that waits for it.
func (l *Ledger) AddResult(r Result) { l.results = append(l.results, r) }

// HasUnwanted tells whether results are to be dropped.
func (l *Ledger) HasUnwanted() bool { return len(l.unwanted) > 0 }

// AwaitAllBut has the pending ops wait for the messages of their callees and entities, except for
// these steps.
func (l *Ledger) AwaitAllBut(steps []journal.StepID) {
	for _, step := range l.ops.Steps() {
		if !slices.Contains(steps, step) {
			l.ops.Change(step, func(o *op.Op) { o.Awaiting = o.MayAwait() })
		}
	}
}
