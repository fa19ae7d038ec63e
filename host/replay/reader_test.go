package replay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// pagesOf serves a journal that is in memory, and counts how often it is asked.
func pagesOf(entries []journal.Entry, asked *int) replay.Pages {
	return func(_ context.Context, after uint64) (page []journal.Entry, more bool, err error) {
		*asked++
		room := journal.PageLimit{Entries: 64}.Room()
		for _, en := range entries {
			if en.Seq <= after {
				continue
			}
			if !room.Take(len(en.Value)) {
				return page, true, nil
			}
			page = append(page, en)
		}
		return page, false, nil
	}
}

// TestReader reads testdata/reader. The input of a case is a journal, one entry a line: `SEQ turn=T` is a delivery,
// `SEQ attempt` a failed attempt. `N..M turn=T` stands for many. The argument up-to ends the reading early.
func TestReader(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/reader", func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "read", d.Cmd)
		upTo := ^uint64(0)
		if d.HasArg("up-to") {
			d.ScanArgs(t, "up-to", &upTo)
		}
		asked := 0
		r := replay.NewReader(pagesOf(journalOf(t, d.Input), &asked), upTo)
		var out strings.Builder
		for {
			turn, err := r.Next(t.Context())
			require.NoError(t, err)
			if len(turn) == 0 {
				break
			}
			if first, last := turn[0], turn[len(turn)-1]; len(turn) == 1 {
				fmt.Fprintf(&out, "%s %d\n", first.Kind, first.Seq)
			} else {
				fmt.Fprintf(&out, "%d of turn %d: %d..%d\n", len(turn), first.Turn, first.Seq, last.Seq)
			}
		}
		p := r.Position()
		fmt.Fprintf(&out, "seq %d, turn %d, at %d; %d pages\n", p.Seq, p.Turn, p.At, asked)
		return out.String()
	})
}

// journalOf parses the journal of a case. An entry's time is ten times its number.
func journalOf(t *testing.T, input string) []journal.Entry {
	var entries []journal.Entry
	for line := range strings.Lines(input) {
		span, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		var first, last uint64
		if _, err := fmt.Sscanf(span, "%d..%d", &first, &last); err != nil {
			_, err := fmt.Sscanf(span, "%d", &first)
			require.NoError(t, err, "%q", line)
			last = first
		}
		for seq := first; seq <= last; seq++ {
			en := journal.Entry{Seq: seq, At: int64(seq) * 10, Kind: journal.Attempt}
			if what != "attempt" {
				en.Kind = journal.Delivery
				_, err := fmt.Sscanf(what, "turn=%d", &en.Turn)
				require.NoError(t, err, "%q", line)
			}
			entries = append(entries, en)
		}
	}
	return entries
}

func TestReaderFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("no connection")
	r := replay.NewReader(func(context.Context, uint64) ([]journal.Entry, bool, error) { return nil, false, broken }, 9)
	_, err := r.Next(t.Context())
	require.ErrorIs(t, err, broken)
}
