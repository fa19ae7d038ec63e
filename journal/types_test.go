package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestFinalStates(t *testing.T) {
	t.Parallel()
	for state, final := range map[journal.State]bool{
		journal.Running: false, journal.Paused: false,
		journal.Completed: true, journal.Failed: true, journal.Interrupted: true,
	} {
		require.Equal(t, final, state.Final(), state)
	}
}
