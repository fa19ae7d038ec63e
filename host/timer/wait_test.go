package timer

import (
	"context"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
)

func TestWait(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan string)
	for _, d := range []time.Duration{time.Minute, time.Hour} {
		go func() {
			Wait(ctx, clock, d)
			waited <- d.String()
		}()
	}
	require.NoError(t, clock.BlockUntilContext(t.Context(), 2))
	clock.Advance(time.Minute)
	require.Equal(t, "1m0s", <-waited)
	cancel()
	require.Equal(t, "1h0m0s", <-waited)
}
