package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
)

// sweeps answers sweeps from a list, and records the requests.
type sweeps struct {
	mu      sync.Mutex
	answers []int   // guarded by mu; -1 is a failure
	before  []int64 // guarded by mu
}

func (s *sweeps) Sweep(_ context.Context, finishedBefore int64, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = append(s.before, finishedBefore)
	if len(s.answers) == 0 {
		return 0, nil
	}
	n := s.answers[0]
	s.answers = s.answers[1:]
	if n < 0 {
		return 0, errors.New("no connection")
	}
	return min(n, limit), nil
}

// asked are the times that it was asked for.
func (s *sweeps) asked() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.before)
}

func TestRetention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &sweeps{answers: []int{sweepPage, sweepPage, 3, -1}}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			(&Sweeper{
				Clock: clockwork.NewRealClock(), Keep: time.Hour, Logger: slog.New(slog.DiscardHandler), Sweep: s.Sweep,
			}).Run(ctx)
		})
		synctest.Wait()
		require.Empty(t, s.asked(), "a host that starts has other things to do")
		time.Sleep(sweepEvery)
		synctest.Wait()
		require.Len(t, s.asked(), 3, "page by page, until one is not full")
		require.Equal(t, start.Add(sweepEvery-time.Hour).UnixNano(), s.asked()[0])
		time.Sleep(sweepEvery)
		synctest.Wait()
		require.Len(t, s.asked(), 4, "a failure ends the sweep")
		time.Sleep(sweepEvery)
		synctest.Wait()
		require.Len(t, s.asked(), 5, "and the next one tries again")
		cancel()
		running.Wait()
	})
}

// TestRetentionWaits has nothing deleted before that is allowed.
func TestRetentionWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, after := &sweeps{}, make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		r := Sweeper{
			Begin:  after,
			Clock:  clockwork.NewRealClock(),
			Keep:   time.Hour,
			Logger: slog.New(slog.DiscardHandler),
			Sweep:  s.Sweep,
		}
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		time.Sleep(10 * sweepEvery) // virtual
		require.Empty(t, s.asked())
		close(after)
		time.Sleep(sweepEvery)
		synctest.Wait()
		require.Len(t, s.asked(), 1)
		cancel()
		running.Wait()
	})
}
