package storetest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

var (
	modelNamespaces = []string{"default", "other"}
	modelSchedules  = []string{"a", "B", "ž"}
)

// drawSchedule draws the next version of a schedule, or its first.
func (m *model) drawSchedule(rt *rapid.T) journal.Schedule {
	s := newSchedule(
		rapid.SampledFrom(modelNamespaces).Draw(rt, "namespace"), rapid.SampledFrom(modelSchedules).Draw(rt, "name"),
	)
	if there, err := m.oracle.Schedule(m.ctx, s.ID()); err == nil {
		s = there.Clone()
		s.Version++
	}
	if rapid.IntRange(0, 5).Draw(rt, "stale") == 0 {
		s.Version += rapid.Int64Range(-2, 1).Draw(rt, "by")
	}
	return s
}

func (m *model) commitSchedule(rt *rapid.T, s journal.Schedule, most int) {
	shift := journal.Epoch(0)
	if rapid.IntRange(0, 9).Draw(rt, "fenced") == 0 {
		shift = 1
	}
	same(rt, "save schedule", func(store journal.Store) (any, error) {
		fence := m.fencesOf(store)[s.ID().Shard()]
		fence.Epoch -= shift
		return nil, store.SaveSchedule(m.ctx, fence, s, most)
	}, m.store, m.oracle)
	m.compareSchedules(rt)
}

// saveSchedule puts a schedule, as people do: also where there are as many as there may be.
func (m *model) saveSchedule(rt *rapid.T) {
	s := m.drawSchedule(rt)
	s.Input, s.WakeAt = drawBytes(rt), rapid.SampledFrom([]int64{0, 1, 2, 3, journal.Never}).Draw(rt, "wake")
	s.Spec.Every = rapid.Int64Range(0, 2).Draw(rt, "every")
	m.commitSchedule(rt, s, rapid.IntRange(1, 4).Draw(rt, "most"))
}

// fireSchedules deals with the ticks of due schedules, as their owner does.
func (m *model) fireSchedules(rt *rapid.T) {
	until, limit := rapid.Int64Range(0, 5).Draw(rt, "until"), rapid.IntRange(1, 4).Draw(rt, "limit")
	var after journal.Wake
	if rapid.Bool().Draw(rt, "paged") {
		after = journal.Wake{
			ID: journal.ScheduleID("default", rapid.SampledFrom(modelSchedules).Draw(rt, "after")),
			At: rapid.Int64Range(0, 4).Draw(rt, "at"),
		}
	}
	var due []journal.Wake
	same(rt, "due schedules", func(s journal.Store) (found []journal.Wake, err error) {
		found, err = s.DueSchedules(m.ctx, until, after, limit)
		due = found
		return slices.Concat(nil, found), err
	}, m.store, m.oracle)
	for _, wake := range due {
		s, err := m.oracle.Schedule(m.ctx, wake.ID)
		if err != nil {
			rt.Fatalf("a schedule that is due is not there: %v", err)
		}
		s.Version++
		s.WakeAt = rapid.Int64Range(wake.At, wake.At+3).Draw(rt, "next")
		s.State.Last, s.State.Started = wake.At, s.State.Started+1
		m.commitSchedule(rt, *s, manySchedules)
	}
}

func (m *model) deleteSchedule(rt *rapid.T) {
	s := m.drawSchedule(rt)
	version := s.Version - 1
	same(rt, "delete schedule", func(store journal.Store) (any, error) {
		return nil, store.DeleteSchedule(m.ctx, m.fencesOf(store)[s.ID().Shard()], s.ID(), version)
	}, m.store, m.oracle)
	m.compareSchedules(rt)
}

func (m *model) compareSchedules(rt *rapid.T) {
	for _, namespace := range modelNamespaces {
		for _, name := range modelSchedules {
			same(rt, "schedule", func(s journal.Store) (*journal.Schedule, error) {
				return s.Schedule(m.ctx, journal.ScheduleID(namespace, name))
			}, m.store, m.oracle)
		}
	}
}

func (m *model) listSchedules(rt *rapid.T) {
	namespace := rapid.SampledFrom(append(modelNamespaces, "none")).Draw(rt, "namespace")
	after := rapid.SampledFrom(append(modelSchedules, "", "m")).Draw(rt, "after")
	limit := rapid.IntRange(0, 4).Draw(rt, "limit")
	same(rt, "schedules", func(s journal.Store) ([]journal.Schedule, error) {
		found, err := s.Schedules(m.ctx, namespace, after, limit)
		return slices.Concat(nil, found), err
	}, m.store, m.oracle)
}
