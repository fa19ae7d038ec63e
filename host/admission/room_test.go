package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/admission"
)

// TestRoomIsMadeBeforeItIsNeeded: from seven eighths of the executions on, each look evicts a waiting one.
// On a full host it looks at as many as it takes to find a removable one, within bounds.
func TestRoomIsMadeBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	executions, asked, stay := 0, 0, 0
	room := admission.Room{Limit: 16, Count: func() int { return executions }, Make: func() bool {
		asked++
		return asked <= stay
	}}
	for _, want := range []struct{ executions, stay, asked int }{
		{13, 0, 0}, {14, 0, 1}, {15, 5, 1}, {16, 0, 1}, {16, 5, 6}, {16, 1000, 32},
	} {
		executions, stay, asked = want.executions, want.stay, 0
		require.Equal(t, want.executions < 16, room.Has())
		require.Equal(t, want.asked, asked, "%+v", want)
	}
	room.Limit, asked = 0, 0
	require.True(t, room.Has(), "there is no limit")
	require.Zero(t, asked)
}
