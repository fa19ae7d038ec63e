package replay

import (
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Ops follows which ops a replayed guest has issued, and which of them the journal
// answers.
type Ops struct {
	pending map[uint32]*op.Op
	issued  map[uint32]*op.Op // all that were ever issued
}

// NewOps knows of no op.
func NewOps() *Ops { return &Ops{pending: map[uint32]*op.Op{}, issued: map[uint32]*op.Op{}} }

// Pending are the ops that were issued and neither delivered nor cancelled.
func (ops *Ops) Pending() map[uint32]*op.Op { return ops.pending }

// Turn takes note of what the guest did in a turn.
func (ops *Ops) Turn(issued []*op.Op, cancelled []uint32) {
	for _, o := range issued {
		ops.pending[o.Number] = o
		ops.issued[o.Number] = o
	}
	for _, number := range cancelled {
		delete(ops.pending, number)
	}
}

// CheckWaiting checks that the guest waits for what it waited for at the same point
// before, if that is known.
func (ops *Ops) CheckWaiting(before journal.Waiting) error {
	var now journal.StepSum
	for _, o := range ops.pending {
		now.Add(o.StepID)
	}
	if before.Steps != (journal.StepSum{}) && before.Steps != now {
		return waitsForOthers(before.Seq, ops.pending)
	}
	return nil
}

// Match checks the entries of a turn against the ops they answer, and returns the
// deliveries that the guest is due. Failed attempts are noted with their op.
// Entries of ops that the guest has cancelled are passed over, as they were the
// first time.
func (ops *Ops) Match(turn []journal.Entry) ([]journal.Entry, error) {
	due := make([]journal.Entry, 0, len(turn))
	for _, en := range turn {
		issued := ops.issued[en.Op.Number]
		if issued == nil || !op.Same(issued.Op, en.Op) {
			return nil, didSomethingElse(en, issued)
		}
		o := ops.pending[en.Op.Number]
		if o == nil {
			continue
		}
		if en.Kind == journal.Attempt {
			o.Attempts, o.NextAt, o.LastError = en.Attempts, en.NextAt, en.Error
			continue
		}
		delete(ops.pending, en.Op.Number)
		due = append(due, en)
	}
	return due, nil
}
