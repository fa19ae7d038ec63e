package timelimit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTimeout ends a context when its time has passed, to the moment.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{
			0, time.Nanosecond, time.Millisecond, 50 * time.Millisecond, 10 * time.Second, time.Minute,
		} {
			start := time.Now()
			ctx, cancel := WithTimeout(t.Context(), clockwork.NewRealClock(), d)
			<-ctx.Done()
			require.Equal(t, d, time.Since(start))
			require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
			cancel()
		}
	})
}

// TestCancel ends a context before its time. No timer is left behind: the bubble would not end.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithTimeout(t.Context(), clockwork.NewRealClock(), time.Hour)
		time.Sleep(time.Minute)
		cancel()
		cancel()
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
	})
}

// TestParentEnds ends the context with its parent, for the parent's reason.
func TestParentEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, end := context.WithCancel(t.Context())
		ctx, cancel := WithTimeout(parent, clockwork.NewRealClock(), time.Hour)
		defer cancel()
		end()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
	})
}

// newWatchdog is one whose ticks are in the hands of the test.
func newWatchdog(t require.TestingT, d time.Duration) (*watchdog, clockwork.Clock, func(time.Duration), func() bool) {
	clock := clockwork.NewFakeClock()
	ended := false
	w := &watchdog{clock: clock, end: func(cause error) {
		require.ErrorIs(t, cause, context.DeadlineExceeded)
		ended = true
	}, left: d, last: clock.Now(), tick: max(shortestTick, min(d/ticks, longestTick))}
	w.timer = clock.AfterFunc(time.Hour*1e5, func() {})
	return w, clock, func(passed time.Duration) { clock.Advance(passed); w.count() }, func() bool { return ended }
}

// TestProcessThatWasAway stops the process for longer than the limit, between any two ticks. Each time counts as one
// tick.
func TestProcessThatWasAway(t *testing.T) {
	t.Parallel()
	w, _, pass, ended := newWatchdog(t, 10*time.Second)
	for range 39 {
		pass(12 * time.Second)
		require.False(t, ended())
	}
	require.Equal(t, w.tick, w.left)
	pass(w.tick)
	require.True(t, ended())
}

// TestWhatCounts lets time pass in any portions: a limit has passed when the time that the process ran, counting an
// absence as one tick, is as long as the limit.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "limit"))
		w, _, pass, ended := newWatchdog(t, d)
		var ran time.Duration
		for range rapid.IntRange(1, 200).Draw(t, "ticks") {
			due := min(w.tick, w.left)
			passed := due
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 1: // a little late
				passed += time.Duration(rapid.Int64Range(0, int64(w.tick)).Draw(t, "late"))
				ran += passed
			case 2: // away
				passed += w.tick + time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "away"))
				ran += due
			default:
				ran += due
			}
			pass(passed)
			require.Equal(t, ran >= d, ended(), "ran %v of %v", ran, d)
			if ended() {
				return
			}
		}
	})
}
