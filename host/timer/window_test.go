package timer

import (
	"bytes"
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// windowModel is a heap that may hold few timers, a store that has all, and a reader of the store that works as
// host/recovery does.
type windowModel struct {
	clock    *clockwork.FakeClock
	timers   *Heap
	store    map[journal.ID]int64 // executions that are not in memory
	memory   map[journal.ID]int64 // executions that are
	nextScan int64
}

func newWindowModel(maxLeft int) *windowModel {
	clock := clockwork.NewFakeClockAt(time.Unix(1000, 0))
	m := &windowModel{
		clock: clock, timers: New(clock, nil, nil), store: map[journal.ID]int64{}, memory: map[journal.ID]int64{},
	}
	m.timers.maxLeft = maxLeft
	return m
}

func (m *windowModel) now() int64 { return m.clock.Now().UnixNano() }

func (m *windowModel) in(seconds int64) int64 { return m.now() + seconds*int64(time.Second) }

// wait has an execution wait in memory.
func (m *windowModel) wait(id journal.ID, at int64) {
	delete(m.store, id)
	m.memory[id] = at
	m.timers.Set(id, at)
}

// leave has an execution leave memory.
func (m *windowModel) leave(id journal.ID, at int64) {
	delete(m.memory, id)
	m.store[id] = at
	m.timers.Leave(id, at)
}

// scan reads the store.
func (m *windowModel) scan() {
	m.nextScan = m.in(60)
	m.timers.Open(m.in(int64(Horizon.Seconds())))
	var rows []journal.Wake
	for id, at := range m.store {
		rows = append(rows, journal.Wake{ID: id, At: at})
	}
	slices.SortFunc(rows, func(a, b journal.Wake) int {
		return cmp.Or(cmp.Compare(a.At, b.At), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for _, w := range rows {
		if w.At <= m.now() {
			m.woken(w.ID)
		} else if !m.timers.Fill(w.ID, w.At) {
			return
		}
	}
}

func (m *windowModel) woken(id journal.ID) {
	delete(m.store, id)
	delete(m.memory, id)
	m.timers.Set(id, journal.Never)
}

// tick lets a second pass. It returns the due executions that were not woken.
func (m *windowModel) tick() (late []journal.ID) {
	m.clock.Advance(time.Second)
	due, _, _ := m.timers.popDue()
	for _, id := range due {
		m.woken(id)
	}
	if min(m.nextScan, m.timers.NextFill()) <= m.now() {
		m.scan()
	}
	for _, waiting := range []map[journal.ID]int64{m.store, m.memory} {
		for id, at := range waiting {
			if at <= m.now() {
				late = append(late, id)
			}
		}
	}
	return late
}

// TestWindow: whatever leaves memory and comes back, and however many are due at once, all are woken at their time, and
// the heap never holds more than it may.
func TestWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newWindowModel(6)
		id := rapid.Custom(func(t *rapid.T) journal.ID { return journal.ID{rapid.ByteRange(1, 60).Draw(t, "id")} })
		// Many have the same time: it is a multiple of twenty seconds.
		at := rapid.Custom(func(t *rapid.T) int64 {
			seconds := rapid.Int64Range(1, 20).Draw(t, "in")
			return m.in(20 - m.now()/int64(time.Second)%20 + 20*seconds)
		})
		t.Repeat(map[string]func(*rapid.T){
			"leave": func(t *rapid.T) { m.leave(id.Draw(t, "who"), at.Draw(t, "at")) },
			"leave together": func(t *rapid.T) {
				at := at.Draw(t, "at")
				for n := range rapid.ByteRange(2, 30).Draw(t, "many") {
					m.leave(journal.ID{n + 100}, at)
				}
			},
			"wait": func(t *rapid.T) { m.wait(id.Draw(t, "who"), at.Draw(t, "at")) },
			"end":  func(t *rapid.T) { m.woken(id.Draw(t, "who")) },
			"let time pass": func(t *rapid.T) {
				for range rapid.IntRange(1, 90).Draw(t, "seconds") {
					require.Empty(t, m.tick())
				}
			},
			"": func(t *rapid.T) {
				left := 0
				for id, it := range m.timers.byID {
					require.Same(t, it, m.timers.items[it.index])
					if it.left {
						left++
						require.Equal(t, m.store[id], it.at)
					}
				}
				require.Len(t, m.timers.items, len(m.timers.byID))
				require.Equal(t, left, m.timers.left)
				require.LessOrEqual(t, left, m.timers.maxLeft)
				for id := range m.memory {
					require.True(t, m.timers.Has(id), "what is in memory keeps its timer")
				}
			},
		})
	})
}

// TestFarTimersAreLeftToTheStore: an execution that leaves memory until a time beyond the horizon
// takes no memory, and a nearer one keeps its timer.
func TestFarTimersAreLeftToTheStore(t *testing.T) {
	t.Parallel()
	m := newWindowModel(MaxLeft)
	m.wait(journal.ID{1}, m.in(3600))
	require.True(t, m.timers.Has(journal.ID{1}))
	m.leave(journal.ID{1}, m.in(3600))
	require.False(t, m.timers.Has(journal.ID{1}))
	m.wait(journal.ID{2}, m.in(60))
	m.leave(journal.ID{2}, m.in(60))
	require.True(t, m.timers.Has(journal.ID{2}))
	require.Equal(t, journal.Never, m.timers.NextFill(), "there was room for all")
}
