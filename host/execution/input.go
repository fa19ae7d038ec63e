package execution

import (
	"context"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/ledger"
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
	// inputCopies is how often an input is in memory while a guest is given it, and deliveryCopies a value that is
	// delivered: as it was read, as it is handed over, and in the write of the turn.
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
func (st *starter) admitInput(ctx context.Context, row *journal.Execution) (*budget.Permit, error) {
	return st.payQueued(ctx, len(row.Input), row.Parent.IsZero())
}

// payQueued takes memory for an input of so many bytes out of Queued. If there is none its caller is refused: after a
// moment, if it waits.
func (st *starter) payQueued(ctx context.Context, size int, wait bool) (*budget.Permit, error) {
	if size <= keptInput {
		return nil, nil
	}
	bytes := min(inputCopies*int64(size), st.deps.Queued.Total())
	if permit, ok := st.deps.Queued.TryAcquire(bytes); ok || !wait {
		return permit, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	permit, err := st.deps.Queued.Acquire(ctx, bytes)
	if err != nil {
		return nil, &admission.Overloaded{
			Reason: abi.Errorf(abi.CodeOverloaded, "the host has no memory left for an input of %d KiB", size>>10),
			After:  startPatience,
		}
	}
	return permit, nil
}

// readInput reads the input of an execution for another start with the same input. The memory is taken before the input
// is read, and given back by release: the caller calls it right before the start, which takes memory for its input
// itself.
func (st *starter) readInput(ctx context.Context, row *journal.Execution) (input []byte, release func(), err error) {
	paid, err := st.payQueued(ctx, row.LeftOut.Input+row.LeftOut.Value, true)
	if err != nil {
		return nil, nil, err
	}
	whole, err := st.rows.Whole(ctx, row)
	if err != nil {
		paid.Release()
		return nil, nil, err
	}
	return whole.Input, paid.Release, nil
}

// ReadInput reads the input of an execution for another start with the same input. The caller gives its memory back by
// release, right before the start.
func (x *Executions) ReadInput(ctx context.Context, row *journal.Execution) (input []byte, release func(), err error) {
	return x.starter.readInput(ctx, row)
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

// admitDelivery waits for the memory of the large values that a batch delivers, with the guest
// that they are for. It reports false if the run cannot go on now: then none of them is read. If the guest crashes
// on its way, that is the crash: the values are paid for all the same, because a pause journals them.
func (r *run) admitDelivery(b *ledger.Batch) (paid *budget.Permit, ok bool, crash error) {
	bytes := r.mail.unreadBytes(b)
	if bytes <= maxInHand {
		return nil, true, nil
	}
	ctx, end := r.beginTurn()
	defer end()
	defer r.instance.expect(bytes)()
	if crash = r.ensureGuest(ctx); crash != nil {
		if r.turnCanceled(ctx, *b) {
			return nil, false, nil
		}
		if abi.IsTransient(crash) {
			return nil, r.crashed(*b, crash), nil
		}
		r.instance.drop()
	}
	paid, err := r.execs.Delivering.Acquire(ctx, min(deliveryCopies*bytes, r.execs.Delivering.Total()))
	if err != nil {
		r.turnCanceled(ctx, *b) // or the host ends
		return nil, false, nil
	}
	return paid, true, crash
}

// handOver gives back the memory of a batch whose values the guest has copied, except for the one copy that is written
// with the turn.
func handOver(paid *budget.Permit, b *ledger.Batch) {
	if paid != nil {
		paid.ShrinkTo(bytesOf(b.Entries))
	}
}
