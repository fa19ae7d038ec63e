package ledger

import (
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
