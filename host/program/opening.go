package program

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// Guest is the live instance of a workflow: see [guest.Guest].
type Guest interface {
	Start(ctx context.Context) (guest.Turn, error)
	Resume(ctx context.Context, r abi.Resume) (guest.Turn, error)
	// Query asks it a question, after which it cannot go on. The answer is the outcome of the
	// turn.
	Query(ctx context.Context, q *abi.Query) (guest.Turn, error)
	Save() (*guest.Saved, error)
	Close()
}

// Opening is how to make an instance.
type Opening struct {
	// Bytes is how much memory it has from the start.
	Bytes int64
	// HasActivity tells whether the module has an activity of that name; nil if that is not known.
	HasActivity func(name string) bool
	// Open makes it, and computes: in a slot. The memory of the instance beyond Bytes, and of its
	// ops, is taken from the permits.
	Open func(ctx context.Context, memory guest.Memory) (Guest, error)
	// Restore makes it from a saved state; the permit covers its memory at that time.
	Restore func(ctx context.Context, memory guest.Memory, saved *guest.Saved) (Guest, error)
}

// Restoring opens a guest in a state that was saved.
func (o Opening) Restoring(saved *guest.Saved) func(context.Context, guest.Memory) (Guest, error) {
	return func(ctx context.Context, memory guest.Memory) (Guest, error) { return o.Restore(ctx, memory, saved) }
}

// Open finds the code of an execution, by the digest in its row, and tells how to make an instance
// of it. It may wait for the store.
func (p *Programs) Open(ctx context.Context, row *journal.Execution) (Opening, error) {
	m, err := p.Catalog.Module(ctx, row.Digest)
	if err != nil {
		return Opening{}, err
	}
	return p.OpeningOf(m, row), nil
}

// OpeningOf makes instances of a module for an execution.
func (p *Programs) OpeningOf(m *catalog.Module, row *journal.Execution) Opening {
	return Opening{
		Bytes:       m.Code.MemoryBytes(),
		HasActivity: m.Manifest.HasActivity,
		Open: func(ctx context.Context, memory guest.Memory) (Guest, error) {
			g, err := guest.Open(ctx, m.Code, row, memory, p.TurnFuel)
			if err != nil {
				return nil, err // not a nil *guest.Guest
			}
			return g, nil
		},
		Restore: func(ctx context.Context, memory guest.Memory, saved *guest.Saved) (Guest, error) {
			g, err := guest.Restore(ctx, m.Code, row, memory, p.TurnFuel, saved)
			if err != nil {
				return nil, err
			}
			return g, nil
		},
	}
}
