package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/cruster/cruster/journal"
)

// Lock implements journal.Store.
func (s *Store) Lock(ctx context.Context, entity journal.ID) (*journal.Lock, error) {
	return find(ctx, s, s.locks, entity, func(l journal.Lock) journal.Lock { return l })
}

// LockedEntity implements journal.Store.
func (s *Store) LockedEntity(
	ctx context.Context, id journal.ID,
) (entity *journal.Entity, lock *journal.Lock, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if e, ok := s.entities[id]; ok {
		e = cloneEntity(e)
		entity = &e
	}
	if l, ok := s.locks[id]; ok {
		lock = &l
	}
	return entity, lock, nil
}

// InSection implements journal.Store.
func (s *Store) InSection(ctx context.Context, step journal.Caller) (bool, error) {
	return alone(ctx, s, func() (bool, error) { return s.inSectionLocked(step), nil })
}

func (s *Store) inSectionLocked(step journal.Caller) bool {
	return s.liveLocked(step) && s.executions[step.ID].row.Section == step.Step
}

// Locks implements journal.Store.
func (s *Store) Locks(
	ctx context.Context, f journal.LockFilter,
) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	limit, err := f.Size()
	if err != nil {
		return nil, journal.ID{}, false, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, journal.ID{}, false, err
	}
	defer leave()
	for _, id := range slices.SortedFunc(maps.Keys(s.locks), compareIDs) {
		l := s.locks[id]
		if compareIDs(id, f.After) <= 0 || f.Namespace != "" && l.Namespace != f.Namespace {
			continue
		}
		if limit--; limit < 0 {
			return locks, after, true, nil
		}
		after = id
		if s.inSectionLocked(l.Holder) {
			locks = append(locks, journal.HeldLock{Lock: l, HolderName: s.executions[l.Holder.ID].row.Name()})
		}
	}
	return locks, after, false, nil
}

// SweepLocks implements journal.Store.
func (s *Store) SweepLocks(ctx context.Context, own []journal.Fence, limit int) (deleted int, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := journal.Owned(own).Check(); err != nil {
		return 0, err
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.locks), compareIDs) {
		if deleted < limit && journal.Owned(own).Has(id.Shard()) && !s.inSectionLocked(s.locks[id].Holder) {
			if own[id.Shard()] != s.fences[id.Shard()] {
				return deleted, journal.ErrFenced
			}
			delete(s.locks, id)
			deleted++
		}
	}
	return deleted, nil
}
