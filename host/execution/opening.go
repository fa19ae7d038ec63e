package execution

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/journal"
)

// Opener finds the code of an execution and tells how to make an instance of it: see
// [program.Programs.Open].
type Opener func(ctx context.Context, row *journal.Execution) (Opening, error)

type (
	// Guest is the live instance of a workflow.
	Guest = program.Guest
	// Opening is how to make an instance.
	Opening = program.Opening
)

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
