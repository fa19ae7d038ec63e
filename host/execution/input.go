package execution

import (
	"context"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal"
)

// # Large values
//
// An input may have 4 MiB, and thousands of executions may wait with theirs for a slow activity. A
// guest has its input in its own memory from its first turn on, and the store has it for a replay.
// So a run keeps a large input only until the guest has it, and reads it again for a replay. The
// same holds for the values of deferreds and for messages: they are read when they are delivered.
//
// Invariants: a large value is paid for before it is in memory. The input of a start is paid for
// out of Queued, by its caller, who waits for a moment and is refused then. A value read from the
// store for a guest is paid for out of Delivering, which is waited for in order, by a run that has
// the memory of its instance already. A holder of a part of Delivering waits for nothing but the
// store and a slot to compute in: so the wait ends, and neither Memory nor Queued is needed for
// that. A guest may compute for long: the memory of values that it has copied is given back before
// it goes on (handOver). A run whose guest crashes gives back the rest before it makes the next
// guest.
const (
	// keptInput is the size up to which the input of a start is not paid for.
	keptInput = 64 << 10
	// inputCopies is how often an input is in memory while a guest is given it, and
	// deliveryCopies a value that is delivered: as it was read, as it is handed over, and in
	// the write of the turn.
	inputCopies    = 2
	deliveryCopies = 3
	// guestCopies is about how often a guest has a large input while it decodes it.
	guestCopies = 4
	// loadCost bounds a page of a journal.
	loadCost = 2 * abi.MaxPayload
	// startPatience is how long a start waits for the memory of its input.
	startPatience = time.Second
)

// admitInput takes memory for the input of a start. An execution that another one calls does not
// wait: the caller holds it already, and must be able to finish.
func (x *Executions) admitInput(ctx context.Context, row *journal.Execution) (*budget.Permit, error) {
	return x.payQueued(ctx, len(row.Input), row.Parent.IsZero())
}

// payQueued takes memory for an input of so many bytes out of Queued. If there is none its caller is refused: after a moment, if it waits.
func (x *Executions) payQueued(ctx context.Context, size int, wait bool) (*budget.Permit, error) {
	if size <= keptInput {
		return nil, nil
	}
	bytes := min(inputCopies*int64(size), x.Queued.Total())
	if permit, ok := x.Queued.TryAcquire(bytes); ok || !wait {
		return permit, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	permit, err := x.Queued.Acquire(ctx, bytes)
	if err != nil {
		return nil, &admission.Overloaded{
			Reason: abi.Errorf(abi.CodeOverloaded, "the host has no memory left for an input of %d KiB", size>>10), After: startPatience,
		}
	}
	return permit, nil
}

// ReadInput reads the input of an execution for another start with the same input. The memory is taken before the input is read, and
// given back by release: the caller calls it right before the start, which takes memory for its input itself.
func (x *Executions) ReadInput(ctx context.Context, row *journal.Execution) (input []byte, release func(), err error) {
	paid, err := x.payQueued(ctx, row.LeftOut.Input+row.LeftOut.Value, true)
	if err != nil {
		return nil, nil, err
	}
	whole, err := x.Whole(ctx, row)
	if err != nil {
		paid.Release()
		return nil, nil, err
	}
	return whole.Input, paid.Release, nil
}

// takeInputs takes over the memory of the inputs of starts. A run that does not adopt the row of a
// start has none of its input either. A start that is received again brings the same.
func (r *run) takeInputs(notices []notice) {
	for _, n := range notices {
		if s, ok := n.(started); ok && s.input != r.input {
			r.releaseInput()
			r.input = s.input
		}
	}
}

func (r *run) releaseInput() {
	r.input.Release()
	r.input = nil
}

// letGoOfInput says that the guest has its input, or that it is not needed yet.
func (r *run) letGoOfInput() {
	r.row = r.row.Brief() // others may look at the row as it was
	r.releaseInput()
}

// admitGrowth has the guest of a row with a large input be admitted with its expected growth: many
// guests admitted at their initial size would find no memory in their first turn, and take it again
// and again. Settle gives back the unused part.
func (x *Executions) admitGrowth(row *journal.Execution, admit admitting) (_ admitting, settle func()) {
	size := int64(row.LeftOut.Input + len(row.Input))
	if size <= keptInput {
		return admit, func() {}
	}
	var instance *budget.Permit
	var ahead int64
	return func(ctx context.Context, bytes int64) (_ *budget.Permit, err error) {
		ahead = max(0, min(guestCopies*size, x.Memory.Total()-bytes))
		if instance, err = admit(ctx, bytes+ahead); err != nil {
			return nil, err
		}
		instance.SetAside(ahead)
		return instance, nil
	}, func() { instance.DropAside(ahead) }
}

// withInput is a row that has its input, from when an instance is admitted until handOver is called. That may be
// repeated.
func (x *Executions) withInput(row *journal.Execution, admit admitting) (_ *journal.Execution, _ admitting, handOver func()) {
	size := int64(row.LeftOut.Input)
	if size == 0 {
		return row, admit, func() {}
	}
	whole := *row
	var paid *budget.Permit
	return &whole, func(ctx context.Context, bytes int64) (*budget.Permit, error) {
			instance, err := admit(ctx, bytes)
			if err != nil {
				return nil, err
			}
			if paid, err = x.Delivering.Acquire(ctx, min(inputCopies*size, x.Delivering.Total())); err == nil {
				whole.Input, err = x.readInput(ctx, row)
			}
			if err != nil {
				instance.Release()
				return nil, err
			}
			return instance, nil
		}, func() {
			whole.Input = nil
			paid.Release()
		}
}

func (x *Executions) readInput(ctx context.Context, row *journal.Execution) ([]byte, error) {
	found, err := x.Store.Load(ctx, row.ID)
	switch {
	case err != nil:
		return nil, err
	case found.Run != row.Run:
		return nil, errContinued
	}
	return found.Input, nil
}

// admitDelivery waits for the memory of the large values that a batch delivers, with the guest
// that they are for. It reports false if the run cannot go on now: then none of them is read. If the guest crashes
// on its way, that is the crash: the values are paid for all the same, because a pause journals them.
func (r *run) admitDelivery(b *batch) (paid *budget.Permit, ok bool, crash error) {
	bytes := r.unreadBytes(b)
	if bytes <= maxInHand {
		return nil, true, nil
	}
	ctx, end := r.beginTurn()
	defer end()
	defer r.expect(bytes)()
	if crash = r.ensureGuest(ctx); crash != nil {
		if r.turnCanceled(ctx, *b) {
			return nil, false, nil
		}
		if abi.IsTransient(crash) {
			return nil, r.crashed(*b, crash), nil
		}
		r.dropGuest()
	}
	paid, err := r.execs.Delivering.Acquire(ctx, min(deliveryCopies*bytes, r.execs.Delivering.Total()))
	if err != nil {
		r.turnCanceled(ctx, *b) // or the host ends
		return nil, false, nil
	}
	return paid, true, crash
}

// handOver gives back the memory of a batch whose values the guest has copied, except for the one copy that is written with the turn.
func handOver(paid *budget.Permit, b *batch) {
	if paid != nil {
		paid.ShrinkTo(bytesOf(b.entries))
	}
}

// unreadBytes is how many bytes of a batch are in the store alone.
func (r *run) unreadBytes(b *batch) (bytes int64) {
	for i := range b.entries {
		if m := b.messages; m != nil && m[i] != nil {
			if _, inHand := r.received.Find(m[i].Position); !inHand {
				bytes += int64(m[i].Bytes)
			}
			continue
		}
		if name := b.entries[i].Op.Name; b.unread[i] && b.entries[i].Op.Kind == abi.OpDeferred {
			if _, inHand := r.deferreds.inHand[name]; !inHand {
				bytes += int64(r.deferreds.settled[name].Bytes)
			}
		}
	}
	return bytes
}
