package instance

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// ErrContinued says that a run whose input was read has continued as another one.
var ErrContinued = errors.New("execution: it has continued as another run")

// Store is the part of the store that guests need.
type Store interface {
	Load(ctx context.Context, id journal.ID) (*journal.Execution, error)
}

// opsParts of queuedParts of Queued are for the ops of one run at most. Beside them it pays for its inbox (an eighth),
// and the host takes memory for the entities that it calls: it must not wait for itself.
const opsParts, queuedParts = 6, 8

// GuestDeps are the dependencies of [Guests].
type GuestDeps struct {
	// Delivering is the budget of large values on their way from the store to a guest: see package largevalue.
	Delivering *budget.Budget
	// Memory is the budget of instances.
	Memory *budget.Budget
	// Queued is the budget of the ops that executions wait for.
	Queued     *budget.Budget
	Registerer prometheus.Registerer
	Slots      *guest.Slots
	Store      Store
}

// Guests makes the guests of executions, as memory is there for them, and lets them compute.
type Guests struct {
	GuestDeps
	fuel  *prometheus.CounterVec
	turns prometheus.Counter
}

// NewGuests returns guests, none of them made yet.
func NewGuests(deps GuestDeps) *Guests {
	return &Guests{
		GuestDeps: deps,
		fuel: metric.Counters(
			deps.Registerer, "workflow_fuel_total",
			"Fuel that turns of workflows have used, replays included, by namespace.", "namespace",
		),
		turns: metric.Counter(deps.Registerer, "turns_total", "Turns taken by workflows, replays included."),
	}
}

// Start makes a guest for an execution, as soon as it is admitted, and gives it its first turn. The caller waits with
// nothing in its hands that others wait for: no slot, and no other guest. Keep is told of the guest before the turn.
func (gs *Guests) Start(
	ctx context.Context, row *journal.Execution, find Opener, admit Admitting, keep func(*Admitted),
) (guest.Turn, error) {
	admit, settle := gs.withGrowth(row, admit)
	defer settle()
	row, admit, handOver := gs.withInput(row, admit)
	defer handOver()
	opening, err := find(ctx, row)
	if err != nil {
		return guest.Turn{}, err
	}
	return gs.Admit(
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

// Admit makes a guest as soon as it is admitted with so many bytes, and has it begin.
func (gs *Guests) Admit(ctx context.Context, namespace string, bytes int64, admit Admitting, keep func(*Admitted),
	open func(context.Context, guest.Memory) (Guest, error), begin func(context.Context, Guest) (guest.Turn, error),
) (guest.Turn, error) {
	instance, err := admit(ctx, bytes)
	if err != nil {
		return guest.Turn{}, journal.Coded("wait for memory", err)
	}
	memory, kept := guest.Memory{Instance: instance, Ops: gs.opsMemory()}, false
	defer func() {
		if !kept {
			release(memory)
		}
	}()
	return gs.Compute(ctx, namespace, func(ctx context.Context) (guest.Turn, error) {
		g, err := open(ctx, memory)
		if err != nil {
			return guest.Turn{}, err
		}
		kept = true
		keep(&Admitted{g, memory})
		return begin(ctx, g)
	})
}

// opsMemory is for the ops of a guest.
func (gs *Guests) opsMemory() *budget.Permit {
	return gs.Queued.Part(gs.Queued.Total() * opsParts / queuedParts)
}

// Compute lets the guest of an execution in this namespace run, within the limits of time and of guests at once.
func (gs *Guests) Compute(
	ctx context.Context, namespace string, call func(context.Context) (guest.Turn, error),
) (turn guest.Turn, err error) {
	err = gs.Slots.Compute(ctx, func(ctx context.Context) (err error) {
		turn, err = gs.Metered(ctx, namespace, call)
		return err
	})
	return turn, err
}

// Metered lets a guest run, and counts its turns and fuel.
func (gs *Guests) Metered(
	ctx context.Context, namespace string, call func(context.Context) (guest.Turn, error),
) (guest.Turn, error) {
	gs.turns.Inc()
	turn, err := call(ctx)
	gs.fuel.WithLabelValues(namespace).Add(float64(turn.Fuel))
	return turn, err
}

// withGrowth has the guest of a row with a large input be admitted with its expected growth: many
// guests admitted at their initial size would find no memory in their first turn, and take it again
// and again. Settle gives back the unused part.
func (gs *Guests) withGrowth(row *journal.Execution, admit Admitting) (_ Admitting, settle func()) {
	size := int64(row.LeftOut.Input + len(row.Input))
	if size <= largevalue.KeptInput {
		return admit, func() {}
	}
	var instance *budget.Permit
	var ahead int64
	return func(ctx context.Context, bytes int64) (_ *budget.Permit, err error) {
		ahead = max(0, min(largevalue.GuestCopies*size, gs.Memory.Total()-bytes))
		if instance, err = admit(ctx, bytes+ahead); err != nil {
			return nil, err
		}
		instance.SetAside(ahead)
		return instance, nil
	}, func() { instance.DropAside(ahead) }
}

// withInput is a row that has its input, from when an instance is admitted until handOver is called. That may be
// repeated.
func (gs *Guests) withInput(
	row *journal.Execution, admit Admitting,
) (_ *journal.Execution, _ Admitting, handOver func()) {
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
			if paid, err = gs.Delivering.Acquire(
				ctx, min(largevalue.InputCopies*size, gs.Delivering.Total()),
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

func (gs *Guests) readInput(ctx context.Context, row *journal.Execution) ([]byte, error) {
	found, err := gs.Store.Load(ctx, row.ID)
	switch {
	case err != nil:
		return nil, err
	case found.Run != row.Run:
		return nil, ErrContinued
	}
	return found.Input, nil
}
