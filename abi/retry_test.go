package abi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	delays := func(p Retry) []time.Duration {
		var all []time.Duration
		for n := uint32(1); n <= 8; n++ {
			all = append(all, p.Delay(n)/time.Second)
		}
		return all
	}
	require.Equal(
		t, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, delays(Retry{}),
		"by default: doubled from one second, capped at a minute",
	)
	require.Equal(t, []time.Duration{5, 10, 20, 40, 60, 60, 60, 60}, delays(Retry{Base: int64(5 * time.Second)}))
	require.Equal(
		t, []time.Duration{7, 7, 7, 7, 7, 7, 7, 7},
		delays(Retry{Backoff: BackoffConstant, Base: int64(7 * time.Second)}),
	)
	require.Equal(
		t, []time.Duration{60, 60, 60, 60, 60, 60, 60, 60},
		delays(Retry{Backoff: BackoffConstant, Base: int64(time.Hour)}),
	)
}
