package instance

import (
	"context"

	"github.com/cruster/cruster/abi"
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

// Admitted is a guest that gives its memory back when it is closed.
type Admitted struct {
	Guest
	memory guest.Memory
}

// Close closes the guest, and gives its memory back.
func (g *Admitted) Close() {
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

// Admitting waits for the permit of an instance.
type Admitting func(ctx context.Context, bytes int64) (*budget.Permit, error)

// ResumeOf returns the message that hands the entries of a turn to a guest.
func ResumeOf(entries []journal.Entry) abi.Resume {
	r := abi.Resume{Deliveries: make([]abi.Delivery, len(entries)), Time: entries[0].At}
	for i, en := range entries {
		r.Deliveries[i] = abi.Delivery{Op: en.Op.Number, Value: en.Value, Error: en.Error}
		r.Entries = max(r.Entries, en.Seq)
	}
	return r
}
