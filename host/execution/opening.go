package execution

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// Opener finds the code of an execution, by the digest in its row, and tells how to make
// an instance of it. It may wait for the store.
type Opener func(ctx context.Context, row *journal.Execution) (Opening, error)

// Opening is how to make an instance.
type Opening struct {
	// Bytes is how much memory it has from the start.
	Bytes int64
	// Open makes it, and computes: in a slot. What the instance takes beyond Bytes it
	// takes out of the permit.
	Open func(ctx context.Context, memory *budget.Permit) (Guest, error)
}

// admitted is a guest that gives its memory back when it is closed.
type admitted struct {
	Guest
	memory *budget.Permit
}

func (g admitted) Close() {
	g.Guest.Close()
	g.memory.Release()
}

// startGuest makes a guest for an execution, as soon as there is memory for it, and gives
// it its first turn. The caller waits with nothing in its hands that others wait for: no
// slot, and no other guest. Keep is told of the guest before the turn.
func (x *Executions) startGuest(ctx context.Context, row *journal.Execution, find Opener, keep func(Guest)) (guest.Turn, error) {
	opening, err := find(ctx, row)
	if err != nil {
		return guest.Turn{}, err
	}
	memory, err := x.resident.Admit(ctx, opening.Bytes)
	if err != nil {
		return guest.Turn{}, journal.Coded("wait for memory", err)
	}
	kept := false
	defer func() {
		if !kept {
			memory.Release()
		}
	}()
	return x.compute(ctx, row.Namespace, func(ctx context.Context) (guest.Turn, error) {
		g, err := opening.Open(ctx, memory)
		if err != nil {
			return guest.Turn{}, err
		}
		kept = true
		keep(admitted{g, memory})
		return g.Start(ctx)
	})
}
