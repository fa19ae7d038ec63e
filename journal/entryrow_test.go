package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// readRows pages through rows as a store does.
func readRows(t require.TestingT, rows []journal.EntryRow, limit journal.PageLimit) (all []journal.Entry) {
	after := uint64(0)
	for range 10_000 {
		page := journal.NewEntryPage(after, limit)
		for _, row := range rows {
			if row.Last <= after {
				continue
			}
			more, err := page.Add(row.First, row.Last, row.Body)
			require.NoError(t, err)
			if !more {
				break
			}
		}
		all = append(all, page.Entries...)
		if !page.More {
			return all
		}
		require.NotEmpty(t, page.Entries, "a page has one entry at least")
		after = all[len(all)-1].Seq
	}
	require.FailNow(t, "the pages do not end")
	return nil
}

func TestEntryRowsHoldWhatWasPacked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seq, entries := uint64(0), []journal.Entry(nil)
		for range rapid.IntRange(0, 30).Draw(rt, "entries") {
			seq += rapid.SampledFrom([]uint64{1, 1, 1, 2, 7}).Draw(rt, "step")
			size := rapid.SampledFrom([]int{0, 10, 1000, 100_000}).Draw(rt, "size")
			entries = append(entries, journal.Entry{Seq: seq, Kind: journal.Delivery, Value: make([]byte, size)})
		}
		shuffled := rapid.Permutation(entries).Draw(rt, "order")
		rows := journal.PackEntries(shuffled)
		last := uint64(0)
		for _, row := range rows {
			require.Greater(rt, row.First, last, "rows do not overlap")
			require.GreaterOrEqual(rt, row.Last, row.First)
			last = row.Last
		}
		limit := journal.PageLimit{
			Entries: rapid.IntRange(1, 9).Draw(rt, "page"), Bytes: rapid.IntRange(1, 300_000).Draw(rt, "bytes"),
		}
		got := readRows(rt, rows, limit)
		require.Equal(rt, abi.MustMarshal(entries), abi.MustMarshal(got))
	})
}

// Entries committed together are one row; a single entry is stored as it always was.
func TestEntryRowFormats(t *testing.T) {
	t.Parallel()
	entries := []journal.Entry{
		{Seq: 4, Kind: journal.Delivery}, {Seq: 5, Kind: journal.Delivery}, {Seq: 6, Kind: journal.Delivery},
	}
	rows := journal.PackEntries(entries)
	require.Len(t, rows, 1)
	require.EqualValues(t, 4, rows[0].First)
	require.EqualValues(t, 6, rows[0].Last)
	rows = journal.PackEntries(entries[:1])
	require.Equal(t, abi.MustMarshal(&entries[0]), rows[0].Body)
}

// An entry that does not decode is told by its own number, and the entries before it are read.
func TestDamagedEntryOfARow(t *testing.T) {
	t.Parallel()
	good := abi.MustMarshal(&journal.Entry{Seq: 4, Kind: journal.Delivery})
	body := abi.MustMarshal([][]byte{good, {0xc1}, good})
	page := journal.NewEntryPage(0, journal.PageLimit{})
	more, err := page.Add(4, 6, body)
	require.NoError(t, err)
	require.False(t, more)
	require.True(t, page.More)
	require.Len(t, page.Entries, 1)
	page = journal.NewEntryPage(4, journal.PageLimit{})
	_, err = page.Add(4, 6, body)
	var damaged *journal.DamagedEntry
	require.ErrorAs(t, err, &damaged)
	require.EqualValues(t, 5, damaged.Seq)
	require.ErrorIs(t, err, journal.ErrCorrupt)

	page = journal.NewEntryPage(0, journal.PageLimit{})
	_, err = page.Add(4, 6, []byte{0xc1})
	require.ErrorAs(t, err, &damaged)
	require.EqualValues(t, 4, damaged.Seq)
	page = journal.NewEntryPage(0, journal.PageLimit{})
	_, err = page.Add(4, 6, abi.MustMarshal([][]byte{good}))
	require.ErrorAs(t, err, &damaged)
}
