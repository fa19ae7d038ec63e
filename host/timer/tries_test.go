package timer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/timer"
)

func TestTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var at []time.Duration
		for n := range timer.Tries(ctx, clockwork.NewRealClock()) {
			if at = append(at, time.Since(began)); n == 11 {
				cancel()
			}
		}
		require.Len(t, at, 11, "none after the end")
		require.Equal(t, []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond}, at[:3])
		require.Equal(t, 5*time.Second, at[10]-at[9])
		for n := range timer.Tries(t.Context(), clockwork.NewRealClock()) {
			require.Equal(t, 1, n)
			break
		}
	})
}
