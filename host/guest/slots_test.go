package guest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
)

func TestSlotsBoundGuests(t *testing.T) {
	t.Parallel()
	slots := NewSlots(clockwork.NewRealClock(), time.Hour)
	room := 2 * runtime.GOMAXPROCS(0)
	entered, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range room {
		all.Go(func() {
			_ = slots.Compute(t.Context(), func(context.Context) error {
				entered <- struct{}{}
				<-release
				return nil
			})
		})
	}
	for range room {
		<-entered
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := slots.Compute(ctx, func(context.Context) error { return errors.New("it ran without a slot") })
	require.ErrorIs(t, err, context.Canceled)
	computed, err := slots.TryCompute(t.Context(), time.Hour, func(context.Context) error {
		return errors.New("it ran without a slot")
	})
	require.NoError(t, err)
	require.False(t, computed)
	close(release)
	all.Wait()
	require.NoError(t, slots.Compute(t.Context(), func(context.Context) error { return nil }))
}

func TestSlotsBoundTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := NewSlots(clockwork.NewRealClock(), time.Minute).Compute(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(start))
		start = time.Now()
		err = NewSlots(clockwork.NewRealClock(), time.Minute).ComputeFor(
			t.Context(),
			time.Second,
			func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			},
		)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		start = time.Now()
		computed, err := NewSlots(clockwork.NewRealClock(), time.Minute).TryCompute(
			t.Context(),
			time.Second,
			func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			},
		)
		require.True(t, computed)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
	})
}
