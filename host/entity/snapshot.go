package entity

import (
	"bytes"
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxState bounds a state: it has to fit into an invocation beside the inputs of a batch.
const maxState = abi.MaxBody / 2

// snapshot is the store's version of an entity. It is immutable.
type snapshot struct{ row *journal.Entity } // nil if there is no entity

func (s *snapshot) bytes() int {
	if s.row == nil {
		return 0
	}
	return len(s.row.State)
}

// state is the state and the version of its shape.
func (s *snapshot) state() ([]byte, uint32) {
	if s.row == nil {
		return nil, 0
	}
	return s.row.State, s.row.Version
}

// load reads the row of an entity.
func (x *Entities) load(ctx context.Context, id journal.ID) (*snapshot, error) {
	row, err := x.Store.Entity(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return &snapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &snapshot{row}, nil
}

// readable refuses a state that the code is too old for.
func (s *snapshot) readable(t Target) error {
	if s.row != nil && s.row.Version > t.Type.StateVersion {
		return abi.Errorf(abi.CodeStateVersion, "the state of %s has version %d, and the deployed code knows versions up to %d", t.Ref, s.row.Version, t.Type.StateVersion)
	}
	return nil
}

// next is the snapshot after operations have left a state behind. Changed tells whether the
// row is to be written.
func (s *snapshot) next(ref Ref, state []byte, version uint32, now int64) (after *snapshot, changed bool) {
	switch {
	case state == nil:
		return &snapshot{}, s.row != nil
	case s.row != nil && s.row.Version == version && bytes.Equal(s.row.State, state):
		return s, false
	}
	row := &journal.Entity{
		ID: ref.ID(), Namespace: ref.Namespace, Type: ref.Type, Key: ref.Key, Version: version, State: state, CreatedAt: now, UpdatedAt: now,
	}
	if s.row != nil {
		row.CreatedAt = s.row.CreatedAt
	}
	return &snapshot{row}, true
}
