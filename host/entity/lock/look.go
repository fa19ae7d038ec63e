package lock

import (
	"context"
	"errors"

	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Store has the reads of a look.
type Store interface {
	InSection(ctx context.Context, step journal.Caller) (bool, error)
	Lock(ctx context.Context, id journal.ID) (*journal.Lock, error)
	LockedEntity(ctx context.Context, id journal.ID) (*journal.Entity, *journal.Lock, error)
}

// Reader looks at locks.
type Reader struct {
	Host  *hoststate.State
	Store Store
}

// Look says which run holds an entity.
type Look struct {
	Lock *journal.Lock // or nil
	Held bool          // the holder is in its section
	// State is the entity's state, if it had to be read.
	State *snapshot.Snapshot
	Err   error
}

// Look reads the holder of an entity, and its state if that is nil. Known is the lock that is
// known: it is the one in the store, as no one else writes it.
func (r *Reader) Look(id journal.ID, known *journal.Lock, state *snapshot.Snapshot) (l Look) {
	ctx := r.Host.Context()
	l.Err = fault.Guard(func() (err error) {
		if known == nil {
			if known, l.State, err = r.read(ctx, id, state); err != nil {
				return err
			}
		}
		if l.Lock = known; known != nil {
			l.Held, err = r.Store.InSection(ctx, known.Holder)
		}
		return err
	})
	return l
}

// read reads the lock of an entity, nil if there is none, and its state if that is not known.
func (r *Reader) read(
	ctx context.Context, id journal.ID, known *snapshot.Snapshot,
) (*journal.Lock, *snapshot.Snapshot, error) {
	if known == nil {
		row, lock, err := r.Store.LockedEntity(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		return lock, &snapshot.Snapshot{Row: row}, nil
	}
	lock, err := r.Store.Lock(ctx, id)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, nil, err
	}
	return lock, nil, nil
}
