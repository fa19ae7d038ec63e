package abi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestDeadlineOf: an attempt is told a tenth of its time less than it has, at most 100 ms.
func TestDeadlineOf(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_700_000_000, 0)
	for limit, told := range map[time.Duration]time.Duration{
		10 * time.Millisecond: 9 * time.Millisecond,
		time.Second:           900 * time.Millisecond,
		time.Minute:           time.Minute - 100*time.Millisecond,
		1:                     1,
	} {
		require.Equal(t, told, abi.DeadlineOf(began, limit).Sub(began), limit)
	}
}
