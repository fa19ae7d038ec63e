package journal_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// rewriting tells whether to write testdata anew: the flag -rewrite of package datadriven, whose tests share it.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// goldenEntries are entries as journals of released versions hold them. Add to them; never change one: an older journal
// must always decode.
var goldenEntries = []struct {
	name  string
	entry journal.Entry
}{
	{"zero", journal.Entry{}},
	{"delivery", journal.Entry{
		At:       1_750_000_000_000_000_000,
		Attempts: 1,
		Kind:     journal.Delivery,
		Seq:      3,
		Turn:     2,
		Value:    []byte{0x81, 0xa1, 'a', 1},
		Op: journal.Op{
			Hash: []byte("0123456789abcdef"), Kind: "activity", Name: "charge", Number: 3, Occurrence: 2,
		},
	}},
	{
		"keyed",
		journal.Entry{
			At:    1,
			Kind:  journal.Delivery,
			Seq:   4,
			Turn:  4,
			Value: abi.Nil,
			Op:    journal.Op{Key: "ключ", Kind: "sleep", Name: "", Number: 4},
		},
	},
	{"empty value", journal.Entry{At: 1, Kind: journal.Delivery, Seq: 5, Value: []byte{}}},
	{"attempt", journal.Entry{
		At: 2, Attempts: 2, Kind: journal.Attempt, NextAt: 1_750_000_060_000_000_000, Seq: 1 << 40, Turn: 1<<64 - 1,
		Error: &abi.Error{
			Code:      abi.CodeActivityFailed,
			Details:   []byte{0xc3},
			Hint:      "hint",
			Message:   "declined ✗",
			Retryable: true,
			Type:      "card_declined",
		},
		Op: journal.Op{Hash: []byte("fedcba9876543210"), Kind: "activity", Name: "charge", Number: 1<<32 - 1},
	}},
}

const goldenFile = "testdata/entries.golden"

// goldenRow is a row of a journal with the entries of one commit. As the entries: never change it.
const goldenRow = "testdata/row.golden"

// TestGoldenRow reads a row that holds several entries, as it was written.
func TestGoldenRow(t *testing.T) {
	t.Parallel()
	var entries []journal.Entry
	for i, g := range goldenEntries[1:] {
		entry := g.entry
		entry.Seq = uint64(i + 7)
		entries = append(entries, entry)
	}
	rows := journal.PackEntries(entries)
	require.Len(t, rows, 1)
	if rewriting() {
		require.NoError(t, os.WriteFile(goldenRow, []byte(hex.EncodeToString(rows[0].Body)+"\n"), 0o644))
	}
	data, err := os.ReadFile(goldenRow)
	require.NoError(t, err)
	body, err := hex.DecodeString(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	page := journal.NewEntryPage(0, journal.PageLimit{Entries: 100})
	more, err := page.Add(7, 10, body)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, entries, page.Entries)
	require.Equal(t, journal.EntryRow{First: 7, Last: 10, Body: body}, rows[0])
}

func TestGoldenEntries(t *testing.T) {
	t.Parallel()
	if rewriting() {
		var out bytes.Buffer
		for _, g := range goldenEntries {
			fmt.Fprintf(&out, "%s\n----\n%x\n\n", g.name, abi.MustMarshal(g.entry))
		}
		require.NoError(t, os.WriteFile(goldenFile, out.Bytes(), 0o644))
	}
	data, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	stored := map[string][]byte{}
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		name, body, ok := strings.Cut(block, "\n----\n")
		require.True(t, ok, block)
		stored[name], err = hex.DecodeString(body)
		require.NoError(t, err, name)
	}
	require.Len(t, stored, len(goldenEntries))
	for _, g := range goldenEntries {
		body := stored[g.name]
		var decoded journal.Entry
		require.NoError(t, abi.Unmarshal(body, &decoded), g.name)
		require.Equal(t, g.entry, decoded, g.name)
		require.Equal(t, body, abi.MustMarshal(decoded), g.name)
		canonical, err := abi.Canonical(body)
		require.NoError(t, err, g.name)
		require.Equal(t, body, canonical, "%s is canonical", g.name)
	}
}
