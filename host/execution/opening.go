package execution

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Opener finds the code of an execution, by the digest in its row, and tells how to make
// an instance of it. It may wait for the store.
type Opener func(ctx context.Context, row *journal.Execution) (Opening, error)

// Opening is how to make an instance.
type Opening struct {
	// Bytes is how much memory it has from the start.
	Bytes int64
	// Open makes it, and computes: in a slot. The memory of the instance beyond Bytes, and of its
	// ops, is taken from the permits.
	Open func(ctx context.Context, memory guest.Memory) (Guest, error)
	// Restore makes it from a saved state; the permit covers its memory at that time.
	Restore func(ctx context.Context, memory guest.Memory, saved *guest.Saved) (Guest, error)
	// HasActivity tells whether the module has an activity of that name; nil if that is not known.
	HasActivity func(name string) bool
}

// restoring opens a guest in a state that was saved.
func (o Opening) restoring(saved *guest.Saved) func(context.Context, guest.Memory) (Guest, error) {
	return func(ctx context.Context, memory guest.Memory) (Guest, error) { return o.Restore(ctx, memory, saved) }
}

// admitted is a guest that gives its memory back when it is closed.
type admitted struct {
	Guest
	memory guest.Memory
}

func (g *admitted) Close() {
	g.Guest.Close()
	release(g.memory)
}

func release(memory guest.Memory) {
	for _, permit := range []*budget.Permit{memory.Instance, memory.Ops} {
		if permit != nil {
			permit.Release()
		}
	}
}

// admitting waits for the permit of an instance.
type admitting func(ctx context.Context, bytes int64) (*budget.Permit, error)

// startGuest makes a guest for an execution, as soon as it is admitted, and gives it its
// first turn. The caller waits with nothing in its hands that others wait for: no
// slot, and no other guest. Keep is told of the guest before the turn.
func (x *Executions) startGuest(ctx context.Context, row *journal.Execution, find Opener, admit admitting, keep func(*admitted)) (guest.Turn, error) {
	admit, settle := x.admitGrowth(row, admit)
	defer settle()
	row, admit, handOver := x.withInput(row, admit)
	defer handOver()
	opening, err := find(ctx, row)
	if err != nil {
		return guest.Turn{}, err
	}
	return x.admitGuest(ctx, row.Namespace, opening.Bytes, admit, keep, opening.Open, func(ctx context.Context, g Guest) (guest.Turn, error) {
		return g.Start(wasm.WithTaken(ctx, handOver))
	})
}

// admitGuest makes a guest as soon as it is admitted with so many bytes, and has it begin.
func (x *Executions) admitGuest(ctx context.Context, namespace string, bytes int64, admit admitting, keep func(*admitted),
	open func(context.Context, guest.Memory) (Guest, error), begin func(context.Context, Guest) (guest.Turn, error),
) (guest.Turn, error) {
	instance, err := admit(ctx, bytes)
	if err != nil {
		return guest.Turn{}, journal.Coded("wait for memory", err)
	}
	memory, kept := guest.Memory{Instance: instance, Ops: x.Queued.Empty()}, false
	defer func() {
		if !kept {
			release(memory)
		}
	}()
	return x.compute(ctx, namespace, func(ctx context.Context) (guest.Turn, error) {
		g, err := open(ctx, memory)
		if err != nil {
			return guest.Turn{}, err
		}
		kept = true
		keep(&admitted{g, memory})
		return begin(ctx, g)
	})
}
