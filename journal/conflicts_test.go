package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestConflicts(t *testing.T) {
	t.Parallel()
	require.Zero(t, journal.Conflicts(t.Context()))
	once := journal.AfterConflicts(t.Context(), 1)
	require.Equal(t, 1, journal.Conflicts(once))
	require.Equal(t, 5, journal.Conflicts(journal.AfterConflicts(once, 5)))
}
