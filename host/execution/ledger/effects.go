package ledger

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Effects are the effects of a turn that the run performs itself, by the commit of the turn.
type Effects struct {
	Answers  message.Answers
	Publish  *journal.Published             // replaces the published values; nil leaves them
	Outcomes map[journal.StepID]abi.Outcome // of the ops that asked for them
	// Unwanted are steps that turns of a replay have given up, if that may not be durable.
	Unwanted []journal.StepID
}

// IsOwn tells whether the run performs an op itself.
func IsOwn(o *op.Op) bool { return o.Kind == abi.OpAnswer || o.Kind == abi.OpPublish }

// Writes tells whether there is anything to be made durable.
func (e *Effects) Writes() bool {
	return len(e.Answers)+len(e.Unwanted) > 0 || e.Publish != nil
}

// WriteTo adds the effects to the write of the turn.
func (e *Effects) WriteTo(w *journal.Write, now int64) {
	w.Publish = e.Publish
	e.Answers.Write(w, now)
}

// SettleOwn gives ops of the run's own their outcomes: they are delivered next.
func (l *Ledger) SettleOwn(outcomes map[journal.StepID]abi.Outcome, now int64) {
	for step, outcome := range outcomes {
		l.Complete(step, outcome, 0, now)
	}
}

// OwnBesides returns the bodies of the pending ops that the run performs itself, except for these
// steps.
func (l *Ledger) OwnBesides(steps map[journal.StepID]abi.Outcome) map[journal.StepID]any {
	bodies := map[journal.StepID]any{}
	for o := range l.ops.All() {
		if _, of := steps[o.StepID]; !of && IsOwn(o) {
			bodies[o.StepID] = o.Body
		}
	}
	return bodies
}
