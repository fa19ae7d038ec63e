package op

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestNote(t *testing.T) {
	t.Parallel()
	o := &Op{IssuedAt: 10}
	require.True(t, o.MayHaveBegun(11))
	require.False(t, o.MayHaveBegun(10), "it was issued by this very host")
	require.EqualValues(t, 1, o.LostSoFar(), "it may have begun when it was issued")

	o.Note(journal.Entry{Kind: journal.Lost, Attempts: 1, At: 20})
	require.False(t, o.MayHaveBegun(20), "this host has begun it")
	require.True(t, o.MayHaveBegun(21))
	require.EqualValues(t, 2, o.LostSoFar())

	o.Note(journal.Entry{Kind: journal.Released, Attempts: 1, At: 30})
	require.EqualValues(t, 1, o.LostSoFar(), "what was given up is not lost")

	o.Note(journal.Entry{Kind: journal.Lost, Attempts: 1, At: 40})
	require.EqualValues(t, 2, o.LostSoFar(), "and begins again")

	failure := abi.Errorf(abi.CodeActivityFailed, "no")
	o.Note(journal.Entry{Kind: journal.Attempt, Attempts: 1, At: 50, NextAt: 60, Error: failure})
	require.Equal(t, failure, o.LastError)
	require.EqualValues(t, 60, o.NextAt)
	require.EqualValues(t, 1, o.LostSoFar(), "one that came back was not lost")
	require.False(t, o.MayHaveBegun(60), "the next one begins after its delay")

	failure.Message, failure.Details = strings.Repeat("x", 16<<10), make([]byte, 256<<10)
	o.Note(journal.Entry{Kind: journal.Attempt, Attempts: 2, Error: failure})
	require.Less(t, len(o.LastError.Message)+len(o.LastError.Details), 5<<10, "there may be many ops")
	require.Len(t, failure.Details, 256<<10, "the entry is whole")
}
