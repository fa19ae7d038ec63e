package journal_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	room := journal.PageLimit{Entries: 3, Bytes: 100}.Room()
	require.True(t, room.Take(500), "a page has one entry at least")
	require.False(t, room.Take(1))

	room = journal.PageLimit{Entries: 3, Bytes: 100}.Room()
	require.True(t, room.Take(40))
	require.False(t, room.Take(61))
	require.True(t, room.Take(60), "what was refused took nothing")
	require.True(t, room.Take(0))
	require.False(t, room.Take(0), "three entries")

	room = journal.PageLimit{Entries: -1, Bytes: -1}.Room()
	entries, bytes := room.Left()
	require.Equal(t, 256, entries)
	require.Equal(t, 1<<20, bytes)
}

// pages answers for the pages of a journal, one after the other.
type pages []func() ([]journal.Entry, bool, error)

func (p *pages) Entries(
	_ context.Context, _ journal.RunKey, _ uint64, _ journal.PageLimit,
) ([]journal.Entry, bool, error) {
	next := (*p)[0]
	*p = (*p)[1:]
	return next()
}

func TestScanEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("no connection")
	full := func() ([]journal.Entry, bool, error) { return []journal.Entry{{Seq: 1}, {Seq: 2}}, true, nil }
	fails := func() ([]journal.Entry, bool, error) { return nil, false, broken }

	n := 0
	for _, err := range journal.Scan(t.Context(), &pages{full, fails}, journal.RunKey{}) {
		if n++; n == 3 {
			require.ErrorIs(t, err, broken)
		}
	}
	require.Equal(t, 3, n, "two entries and the error")
	for en := range journal.Scan(t.Context(), &pages{full}, journal.RunKey{}) {
		require.EqualValues(t, 1, en.Seq)
		break // no further page is asked for
	}
}
