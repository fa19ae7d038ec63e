package memory

import (
	"bytes"
	"context"
	"strings"

	"github.com/cruster/cruster/journal"
)

// SaveSchedule implements journal.Store.
func (s *Store) SaveSchedule(ctx context.Context, f journal.Fence, sched journal.Schedule, most int) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	id := sched.ID()
	if f != s.fences[id.Shard()] {
		return journal.ErrFenced
	}
	if s.schedules[id].Version != sched.Version-1 {
		return journal.ErrStale
	}
	if sched.Version == 1 {
		there := 0
		for _, other := range s.schedules {
			if other.Namespace == sched.Namespace {
				there++
			}
		}
		if there >= most {
			return journal.ErrTooMany
		}
	}
	s.schedules[id] = cloneSchedule(sched)
	return nil
}

// DeleteSchedule implements journal.Store.
func (s *Store) DeleteSchedule(ctx context.Context, f journal.Fence, id journal.ID, version int64) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if f != s.fences[id.Shard()] {
		return journal.ErrFenced
	}
	if there, ok := s.schedules[id]; !ok || there.Version != version {
		return journal.ErrStale
	}
	delete(s.schedules, id)
	return nil
}

// Schedule implements journal.Store.
func (s *Store) Schedule(ctx context.Context, id journal.ID) (*journal.Schedule, error) {
	return find(ctx, s, s.schedules, id, cloneSchedule)
}

// Schedules implements journal.Store.
func (s *Store) Schedules(ctx context.Context, namespace, after string, limit int) ([]journal.Schedule, error) {
	return list(ctx, s, s.schedules, func(_ journal.ID, there journal.Schedule) (journal.Schedule, bool) {
		there = cloneSchedule(there)
		there.Input = nil
		return there, there.Namespace == namespace && there.Name > after
	}, func(a, b journal.Schedule) int { return strings.Compare(a.Name, b.Name) }, limit)
}

// DueSchedules implements journal.Store.
func (s *Store) DueSchedules(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return list(ctx, s, s.schedules, func(id journal.ID, there journal.Schedule) (journal.Wake, bool) {
		return journal.Wake{ID: id, At: there.WakeAt}, there.WakeAt <= until &&
			compareTimes(there.WakeAt, after.At, id, after.ID) > 0
	}, compareWakes, limit)
}

// cloneSchedule copies a schedule by way of its encoding, as a store does.
func cloneSchedule(s journal.Schedule) journal.Schedule {
	c := journal.Schedule{
		Namespace: s.Namespace, Name: s.Name, Version: s.Version, WakeAt: s.WakeAt, Input: bytes.Clone(s.Input),
	}
	if err := c.SetBody(s.Body()); err != nil {
		panic(err) // it was encoded just now
	}
	return c
}
