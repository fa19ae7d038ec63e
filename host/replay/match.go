package replay

import (
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Ops follows which ops a replayed guest has issued, and which of them the journal answers.
type Ops struct {
	pending map[uint32]*op.Op
	waiting journal.StepSum           // the sum of the pending steps
	issued  map[uint32]identity       // the pending and the cancelled ops
	steps   map[journal.StepID]uint32 // the numbers of all that were ever issued
	partial bool                      // some cancelled ops are not known
}

// identity is the kept part of an op, without its body, which may be large.
type identity struct {
	op   journal.Op
	step journal.StepID
}

// NewOps knows of no op.
func NewOps() *Ops {
	return &Ops{pending: map[uint32]*op.Op{}, issued: map[uint32]identity{}, steps: map[journal.StepID]uint32{}}
}

// newOpsOf knows of ops that a guest waits for.
func newOpsOf(pending []*op.Op) *Ops {
	ops := NewOps()
	ops.Turn(pending, nil)
	ops.partial = true
	return ops
}

// step is the pending op of a step, nil if there is none.
func (ops *Ops) step(step journal.StepID) *op.Op { return ops.pending[ops.steps[step]] }

// came tells whether the guest has issued a step.
func (ops *Ops) came(step journal.StepID) bool { return ops.steps[step] > 0 }

// delivered takes an op from the pending ones.
func (ops *Ops) delivered(number uint32) {
	ops.remove(number)
	delete(ops.issued, number)
}

func (ops *Ops) remove(number uint32) {
	if o := ops.pending[number]; o != nil {
		ops.waiting.Add(o.StepID)
		delete(ops.pending, number)
	}
}

// Pending are the ops that were issued and neither delivered nor cancelled.
func (ops *Ops) Pending() map[uint32]*op.Op { return ops.pending }

// Turn takes note of the guest's ops in a turn.
func (ops *Ops) Turn(issued []*op.Op, cancelled []uint32) {
	for _, o := range issued {
		ops.pending[o.Number] = o
		ops.waiting.Add(o.StepID)
		ops.issued[o.Number] = identity{o.Op, o.StepID}
		ops.steps[o.StepID] = o.Number
	}
	for _, number := range cancelled {
		ops.remove(number)
	}
}

// CheckWaiting checks that the guest waits for the same steps as at the same point before, if these are known.
func (ops *Ops) CheckWaiting(before journal.Waiting) error {
	if before.Steps != (journal.StepSum{}) && before.Steps != ops.waiting {
		return waitsForOthers(before.Seq, ops.pending)
	}
	return nil
}

// Match checks the entries of a turn against the ops they answer, and returns the deliveries that the guest is due. The
// outcomes of attempts are noted with their op. Entries of ops that the guest has cancelled are passed over, as they
// were the first time.
func (ops *Ops) Match(turn []journal.Entry) ([]journal.Entry, error) {
	due := make([]journal.Entry, 0, len(turn))
	for _, en := range turn {
		issued, known := ops.issued[en.Op.Number]
		if !known && ops.partial && en.Kind != journal.Delivery {
			continue // about an op that was cancelled before
		}
		if !known || !op.Same(issued.op, en.Op) {
			return nil, didSomethingElse(en, issued, known)
		}
		o := ops.pending[en.Op.Number]
		if o == nil {
			continue
		}
		if en.Kind != journal.Delivery {
			o.Note(en)
			continue
		}
		ops.delivered(en.Op.Number)
		due = append(due, en)
	}
	return due, nil
}
