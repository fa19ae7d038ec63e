package ledger

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Result is how a callee has ended. It is in the inbox, or was read from the row of the callee.
type Result struct {
	Callee   journal.RunID
	Step     journal.StepID
	At       int64
	Envelope *journal.Envelope
	Outcome  abi.Outcome // if there is no envelope
}

// ResultOf is the result that a message in the inbox brings.
func ResultOf(e journal.Envelope) Result {
	return Result{Callee: e.From.Run, Step: e.From.Step, At: e.At, Envelope: &e}
}

// settle gives the result to the op that waits for it. It reports false if that waits no more.
func (res *Result) settle(o *op.Op, run journal.RunID) bool {
	switch {
	case o.Settled() || !o.MayAwait():
		return false
	case res.Envelope == nil:
		o.Settle(res.Outcome, 0, res.At)
	case o.Kind == abi.OpLock:
		o.Answered() // it is asked for again, and the next one is locked
		return false
	case res.Envelope.Origin != journal.OriginOf(run, o.StepID):
		return false // the step of a run before this one
	case res.Envelope.Bytes == 0:
		o.Answered() // the host reads the row of the callee
		return false
	default:
		o.Receive(*res.Envelope)
		o.ReadyAt = max(res.At, o.IssuedAt)
	}
	return true
}

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
