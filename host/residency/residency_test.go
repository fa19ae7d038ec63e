package residency

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal"
)

// bundle is a list whose instances have one byte each.
type bundle struct {
	*List
	t       *testing.T
	mu      sync.Mutex
	permits map[journal.ID]*budget.Permit // guarded by mu
	busy    map[journal.ID]bool           // guarded by mu; cannot be evicted
	evicted []journal.ID                  // guarded by mu
}

func setup(t *testing.T, places int64) *bundle {
	b := &bundle{t: t, permits: map[journal.ID]*budget.Permit{}, busy: map[journal.ID]bool{}}
	b.List = New(Config{
		Budget: budget.New(places), Clock: clockwork.NewRealClock(), Evict: b.evict, IdleTimeout: time.Minute,
		Registerer: prometheus.NewRegistry(),
	})
	b.cfg.Budget.ReclaimBy(b.EvictOldest)
	return b
}

func (b *bundle) evict(id journal.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[id] {
		return false
	}
	b.evicted = append(b.evicted, id)
	b.Remove(id)
	b.permits[id].Release()
	delete(b.permits, id)
	return true
}

// open makes an instance that is at work.
func (b *bundle) open(id byte) {
	p, err := b.Admit(b.t.Context(), 1)
	require.NoError(b.t, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.permits[journal.ID{id}] = p
	b.Use(journal.ID{id})
}

func (b *bundle) takeEvicted() (ids []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range b.evicted {
		ids = append(ids, id[0])
	}
	b.evicted = nil
	return ids
}

func TestTheLeastRecentlyUsedGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, 3)
		for id := range byte(3) {
			b.open(id)
			b.Rest(journal.ID{id})
		}
		require.Empty(t, b.takeEvicted(), "there is room for three")
		b.Use(journal.ID{0})
		b.Rest(journal.ID{0})
		b.open(3)
		require.Equal(t, []byte{1}, b.takeEvicted())
		b.open(4)
		require.Equal(t, []byte{2}, b.takeEvicted())
		b.Rest(journal.ID{99})
		b.Remove(journal.ID{99})
	})
}

// TestInstancesAtWorkStay has an execution wait until another one rests.
func TestInstancesAtWorkStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, 2)
		b.open(1)
		b.open(2)
		opened := false
		go func() { b.open(3); opened = true }()
		synctest.Wait()
		require.False(t, opened)
		b.Rest(journal.ID{2})
		synctest.Wait()
		require.True(t, opened)
		require.Equal(t, []byte{2}, b.takeEvicted())
	})
}

// TestOneThatBeginsToWorkIsPassedOver asks for the memory of an instance that has just been given work.
func TestOneThatBeginsToWorkIsPassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, 2)
		b.open(1)
		b.Rest(journal.ID{1})
		b.open(2)
		b.Rest(journal.ID{2})
		b.busy[journal.ID{1}] = true
		b.open(3)
		require.Equal(t, []byte{2}, b.takeEvicted())
		b.mu.Lock()
		b.busy[journal.ID{1}] = false
		b.mu.Unlock()
		b.Use(journal.ID{1}) // as it says itself
		b.Rest(journal.ID{1})
		b.open(4)
		require.Equal(t, []byte{1}, b.takeEvicted())
	})
}

func TestRunEvictsTheIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, 10)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go b.Run(ctx)
		for _, id := range []byte{1, 2, 3} {
			b.open(id)
		}
		b.Rest(journal.ID{1})
		b.Rest(journal.ID{2})
		time.Sleep(40 * time.Second)
		b.Use(journal.ID{2})
		b.Rest(journal.ID{2})
		time.Sleep(40 * time.Second)
		synctest.Wait()
		require.Equal(t, []byte{1}, b.takeEvicted())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []byte{2}, b.takeEvicted(), "the third is at work")
	})
}
