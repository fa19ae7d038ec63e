package execution

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// guests makes the guests of executions, as memory is there for them, and lets them compute.
type guests struct {
	deps    *Deps
	metrics *metrics
}

// start makes a guest for an execution, as soon as it is admitted, and gives it its first turn. The caller waits with
// nothing in its hands that others wait for: no slot, and no other guest. Keep is told of the guest before the turn.
func (gs *guests) start(
	ctx context.Context, row *journal.Execution, find Opener, admit admitting, keep func(*admitted),
) (guest.Turn, error) {
	admit, settle := gs.withGrowth(row, admit)
	defer settle()
	row, admit, handOver := gs.withInput(row, admit)
	defer handOver()
	opening, err := find(ctx, row)
	if err != nil {
		return guest.Turn{}, err
	}
	return gs.admit(
		ctx,
		row.Namespace,
		opening.Bytes,
		admit,
		keep,
		opening.Open,
		func(ctx context.Context, g Guest) (guest.Turn, error) {
			return g.Start(wasm.WithTaken(ctx, handOver))
		},
	)
}

// admit makes a guest as soon as it is admitted with so many bytes, and has it begin.
func (gs *guests) admit(ctx context.Context, namespace string, bytes int64, admit admitting, keep func(*admitted),
	open func(context.Context, guest.Memory) (Guest, error), begin func(context.Context, Guest) (guest.Turn, error),
) (guest.Turn, error) {
	instance, err := admit(ctx, bytes)
	if err != nil {
		return guest.Turn{}, journal.Coded("wait for memory", err)
	}
	memory, kept := guest.Memory{Instance: instance, Ops: gs.deps.Queued.Empty()}, false
	defer func() {
		if !kept {
			release(memory)
		}
	}()
	return gs.compute(ctx, namespace, func(ctx context.Context) (guest.Turn, error) {
		g, err := open(ctx, memory)
		if err != nil {
			return guest.Turn{}, err
		}
		kept = true
		keep(&admitted{g, memory})
		return begin(ctx, g)
	})
}

// compute lets the guest of an execution in this namespace run, within the limits of time and of guests at once.
func (gs *guests) compute(
	ctx context.Context, namespace string, call func(context.Context) (guest.Turn, error),
) (turn guest.Turn, err error) {
	err = gs.deps.Slots.Compute(ctx, func(ctx context.Context) (err error) {
		turn, err = gs.metered(ctx, namespace, call)
		return err
	})
	return turn, err
}

// metered lets a guest run, and counts its turns and fuel.
func (gs *guests) metered(
	ctx context.Context, namespace string, call func(context.Context) (guest.Turn, error),
) (guest.Turn, error) {
	gs.metrics.turns.Inc()
	turn, err := call(ctx)
	gs.metrics.fuel.WithLabelValues(namespace).Add(float64(turn.Fuel))
	return turn, err
}

// withGrowth has the guest of a row with a large input be admitted with its expected growth: many
// guests admitted at their initial size would find no memory in their first turn, and take it again
// and again. Settle gives back the unused part.
func (gs *guests) withGrowth(row *journal.Execution, admit admitting) (_ admitting, settle func()) {
	size := int64(row.LeftOut.Input + len(row.Input))
	if size <= keptInput {
		return admit, func() {}
	}
	var instance *budget.Permit
	var ahead int64
	return func(ctx context.Context, bytes int64) (_ *budget.Permit, err error) {
		ahead = max(0, min(guestCopies*size, gs.deps.Memory.Total()-bytes))
		if instance, err = admit(ctx, bytes+ahead); err != nil {
			return nil, err
		}
		instance.SetAside(ahead)
		return instance, nil
	}, func() { instance.DropAside(ahead) }
}

// withInput is a row that has its input, from when an instance is admitted until handOver is called. That may be
// repeated.
func (gs *guests) withInput(
	row *journal.Execution, admit admitting,
) (_ *journal.Execution, _ admitting, handOver func()) {
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
			if paid, err = gs.deps.Delivering.Acquire(
				ctx, min(inputCopies*size, gs.deps.Delivering.Total()),
			); err == nil {
				whole.Input, err = gs.readInput(ctx, row)
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

func (gs *guests) readInput(ctx context.Context, row *journal.Execution) ([]byte, error) {
	found, err := gs.deps.Store.Load(ctx, row.ID)
	switch {
	case err != nil:
		return nil, err
	case found.Run != row.Run:
		return nil, errContinued
	}
	return found.Input, nil
}
