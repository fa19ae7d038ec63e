package snapshot

import (
	"bytes"
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// MaxState bounds a state: it has to fit into an invocation beside the inputs of a batch.
const MaxState = abi.MaxBody / 2

// Snapshot is the store's version of an entity. It is immutable.
type Snapshot struct{ Row *journal.Entity } // nil if there is no entity

func (s *Snapshot) bytes() int {
	if s.Row == nil {
		return 0
	}
	return len(s.Row.State)
}

// State is the state and the version of its shape.
func (s *Snapshot) State() ([]byte, uint32) {
	if s.Row == nil {
		return nil, 0
	}
	return s.Row.State, s.Row.Version
}

// rows reads the rows of entities.
type rows interface {
	Entity(ctx context.Context, id journal.ID) (*journal.Entity, error)
}

// Load reads the row of an entity.
func Load(ctx context.Context, store rows, id journal.ID) (*Snapshot, error) {
	row, err := store.Entity(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return &Snapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &Snapshot{row}, nil
}

// Readable refuses a state that the code is too old for.
func (s *Snapshot) Readable(t target.Target) error {
	if s.Row != nil && s.Row.Version > t.Type.StateVersion {
		return abi.Errorf(
			abi.CodeStateVersion, "the state of %s has version %d, and the deployed code knows versions up to %d",
			t.Ref, s.Row.Version, t.Type.StateVersion,
		)
	}
	return nil
}

// Next is the snapshot after operations have left a state behind. Changed tells whether the row is to be written.
func (s *Snapshot) Next(ref target.Ref, state []byte, version uint32, now int64) (after *Snapshot, changed bool) {
	switch {
	case state == nil:
		return &Snapshot{}, s.Row != nil
	case s.Row != nil && s.Row.Version == version && bytes.Equal(s.Row.State, state):
		return s, false
	}
	row := &journal.Entity{
		ID:        ref.ID(),
		Namespace: ref.Namespace,
		Type:      ref.Type,
		Key:       ref.Key,
		Version:   version,
		State:     state,
		CreatedAt: now,
		UpdatedAt: now,
	}
	if s.Row != nil {
		row.CreatedAt = s.Row.CreatedAt
	}
	return &Snapshot{row}, true
}
