package execution

import (
	"context"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/journal"
)

// startPatience is how long a start waits for the memory of its input.
const startPatience = time.Second

// admitInput takes memory for the input of a start. An execution that another one calls does not
// wait: the caller holds it already, and must be able to finish.
func (st *Starter) admitInput(ctx context.Context, row *journal.Execution) (*budget.Permit, error) {
	return st.payQueued(ctx, len(row.Input), row.Parent.IsZero())
}

// payQueued takes memory for an input of so many bytes out of Queued. If there is none its caller is refused: after a
// moment, if it waits.
func (st *Starter) payQueued(ctx context.Context, size int, wait bool) (*budget.Permit, error) {
	if size <= largevalue.KeptInput {
		return nil, nil
	}
	bytes := min(largevalue.InputCopies*int64(size), st.deps.Queued.Total())
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

// ReadInput reads the input of an execution for another start with the same input. The memory is taken before the input
// is read, and given back by release: the caller calls it right before the start, which takes memory for its input
// itself.
func (st *Starter) ReadInput(ctx context.Context, row *journal.Execution) (input []byte, release func(), err error) {
	paid, err := st.payQueued(ctx, row.LeftOut.Input+row.LeftOut.Value, true)
	if err != nil {
		return nil, nil, err
	}
	whole, err := st.deps.rows.Whole(ctx, row)
	if err != nil {
		paid.Release()
		return nil, nil, err
	}
	return whole.Input, paid.Release, nil
}
