package residency

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// bundle is a list whose evictions are recorded.
type bundle struct {
	*List
	clock   *clockwork.FakeClock
	evicted chan journal.ID
}

func setup(t *testing.T, limit int) *bundle {
	b := &bundle{clock: clockwork.NewFakeClock(), evicted: make(chan journal.ID, 100)}
	b.List = New(Config{Clock: b.clock, IdleTimeout: time.Minute, Max: limit, Evict: func(id journal.ID) {
		b.Remove(id)
		b.evicted <- id
	}, Registerer: prometheus.NewRegistry()})
	t.Cleanup(func() { require.Empty(t, b.evicted, "more was evicted than expected") })
	return b
}

func (b *bundle) all() (ids []journal.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.oldestFirstLocked() {
		ids = append(ids, r.id)
	}
	return ids
}

func TestAddEvictsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	b := setup(t, 3)
	for n := range byte(3) {
		b.Add(journal.ID{n + 1})
	}
	require.Empty(t, b.evicted, "there is room for three")
	b.Touch(journal.ID{1})
	b.Add(journal.ID{4})
	require.Equal(t, journal.ID{2}, <-b.evicted)
	b.Add(journal.ID{3}) // it is counted once
	require.Equal(t, []journal.ID{{1}, {4}, {3}}, b.all())
	b.Remove(journal.ID{3})
	b.Remove(journal.ID{99})
	b.Touch(journal.ID{99})
	b.Add(journal.ID{5})
	require.Equal(t, []journal.ID{{1}, {4}, {5}}, b.all())
}

// TestInstancesAtWorkStay has instances that cannot be evicted for a while.
func TestInstancesAtWorkStay(t *testing.T) {
	t.Parallel()
	atWork := true
	var l *List
	l = New(Config{Clock: clockwork.NewFakeClock(), Max: 2, Evict: func(id journal.ID) {
		if !atWork {
			l.Remove(id)
		}
	}})
	for n := range byte(5) {
		l.Add(journal.ID{n})
	}
	require.Len(t, l.byID, 5)
	atWork = false
	l.Add(journal.ID{9})
	require.Len(t, l.byID, 2, "they go as soon as they can")
	require.Contains(t, l.byID, journal.ID{9}, "the newest stays")
}

func TestRunEvictsTheIdle(t *testing.T) {
	t.Parallel()
	b := setup(t, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	require.NoError(t, b.clock.BlockUntilContext(t.Context(), 1))
	b.Add(journal.ID{1})
	b.Add(journal.ID{2})
	b.clock.Advance(40 * time.Second)
	b.Touch(journal.ID{2})
	b.clock.Advance(30 * time.Second)
	require.Equal(t, journal.ID{1}, <-b.evicted)
	require.Equal(t, []journal.ID{{2}}, b.all())
	b.clock.Advance(time.Hour)
	require.Equal(t, journal.ID{2}, <-b.evicted)
	cancel()
	running.Wait()
}
