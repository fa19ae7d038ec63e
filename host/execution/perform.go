package execution

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// # Effects that a run performs itself
//
// Most ops are performed by a task, beside the run, once the turn that issued them is durable. The
// answer to an update and the published values of a run need no task: they are rows that belong to
// the run, so they are part of the commit of the turn that issues them. Callers learn of an answer
// when that commit is through, and it costs no other.
//
// Invariants:
//
//  1. They take effect with their turn or not at all. A turn may be durable without its effects,
//     see recover.go: then a replay performs them again. Both may be repeated: an answered update
//     is gone, and publishing the same values changes nothing.
//  2. They take effect also if the guest gives them up in the same turn: it does not want to
//     learn of them. Then nothing is delivered, and the journal knows nothing of them, so that
//     they cost neither a turn nor an entry. Refusals of such an op cannot be told to the
//     guest; they end its turn as a trap would.
//  3. One that is not given up is delivered next, however often the run was loaded meanwhile.

// perform computes the local effects of a turn. It changes nothing.
func (r *run) perform(b ledger.Batch, turn guest.Turn) (did ledger.Effects, err error) {
	err = r.performOn(&did, b.Delivered(), turn)
	return did, err
}

// performOn adds the local effects of a turn to those of the turns before.
func (r *run) performOn(did *ledger.Effects, delivered []journal.Envelope, turn guest.Turn) (err error) {
	for _, o := range turn.Issued {
		var refused *abi.Error
		switch body := o.Body.(type) {
		case *abi.Answer:
			r.ledger.With(func(l *ledger.Ledger) {
				if update, there := l.Asked(body.ID, delivered); there {
					did.Answers.Give(update, body)
				}
			})
		case *abi.Publish:
			if refused, err = r.publish(did, body); err != nil {
				return err
			}
		default:
			continue
		}
		if refused != nil && slices.Contains(turn.Cancelled, o.Number) {
			return refused
		}
		if did.Outcomes == nil {
			did.Outcomes = map[journal.StepID]abi.Outcome{}
		}
		did.Outcomes[o.StepID] = op.OutcomeOf(abi.Nil, refused)
	}
	return nil
}

// passAnswers passes a point that is about answers, if there are any.
func passAnswers(in faultpoint.Injector, did ledger.Effects, point string) {
	if len(did.Answers) > 0 {
		in.Pass(point)
	}
}

// publish adds to the values that a turn publishes. Refused tells the reason if not.
func (r *run) publish(did *ledger.Effects, body *abi.Publish) (refused *abi.Error, err error) {
	changed, refused, err := r.published.Changed(r.deps.Host.Context(), r.row, did.Publish, body)
	if changed != nil {
		did.Publish = changed
	}
	return refused, err
}
