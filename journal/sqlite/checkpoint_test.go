package sqlite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestCopyDue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		log, copied int
		due         bool
	}{
		{0, 0, false},
		{copyEvery - 1, 0, false},
		{copyEvery, 0, true},
		{copyEvery, copyEvery, false},
		{longLog - 1, copyEvery, false},
		{longLog, longLog - 1, true},
		{longLog, longLog, false},
	} {
		require.Equal(t, c.due, copyDue(c.log, c.copied), "%+v", c)
	}
}

// TestLogIsCopiedBeside copies the log while the writer is in the middle of a transaction: the two do not wait for each
// other, and the log begins anew once all of it is copied.
func TestLogIsCopiedBeside(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	fences, err := s.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	start := func(key string) {
		e := laneOf(key)
		results, err := s.Commit(t.Context(), []journal.Write{{
			ID: e.ID, Run: e.Run, Fence: fences[e.ID.Shard()], Start: &e,
		}})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
	}
	for i := range 20 {
		start(fmt.Sprint(i))
	}
	grown, _, err := s.log.checkpoint("NOOP")
	require.NoError(t, err)
	require.Greater(t, grown, 20)

	tx, err := s.BeginGuest(t.Context(), "default")
	require.NoError(t, err)
	log, copied, err := s.log.checkpoint("PASSIVE")
	require.NoError(t, err)
	require.Equal(t, []int{grown, grown}, []int{log, copied})
	require.NoError(t, tx.Rollback(t.Context()))

	start("after")
	log, _, err = s.log.checkpoint("NOOP")
	require.NoError(t, err)
	require.Less(t, log, 20, "it began anew")
	for i := range 20 {
		_, err := s.Load(t.Context(), laneOf(fmt.Sprint(i)).ID)
		require.NoError(t, err)
	}
}
