package recovery

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// TestSleepersDuringALongScan has an execution leave memory for half a minute while a scan has waited for room for
// longer than the horizon. It is woken at its time all the same.
func TestSleepersDuringALongScan(t *testing.T) {
	t.Parallel()
	w := &world{timers: map[journal.ID]int64{}, due: []journal.Wake{wakeIn(1, -time.Hour)}}
	synctest.Test(t, func(t *testing.T) {
		w.Clock = clockwork.NewRealClock()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		var mu sync.Mutex
		var fired []journal.ID // guarded by mu
		heap := timer.New(w, func(id journal.ID) {
			mu.Lock()
			defer mu.Unlock()
			fired = append(fired, id)
		}, nil)
		running.Go(func() { heap.Run(ctx) })
		r := w.scanner()
		r.Timers = heap
		running.Go(func() { r.Run(ctx) })

		time.Sleep(timer.Horizon + time.Minute) // virtual; there is no room
		sleeper := wakeIn(2, timer.Horizon+time.Minute+30*time.Second)
		w.mu.Lock()
		w.due = append(w.due, sleeper)
		w.mu.Unlock()
		heap.Set(sleeper.ID, sleeper.At)
		heap.Leave(sleeper.ID, sleeper.At)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []journal.ID{sleeper.ID}, fired)
	})
}
