// Package golden_test replays journals of every format that was ever written. A
// recording is a module, the row and the entries of an execution of it, and its result.
// The workflow of the module touches all that a guest can observe. So whatever changes
// what an old journal means fails here: how random numbers are seeded, how arguments are
// hashed and steps are named, what WASI does, how a refusal is worded.
//
// Files of a recording are never written again. A change that must break them is a new
// format ([journal.CurrentFormat]): old executions keep the old behaviour, and
// `go test ./tests/golden -record` adds the files of the new format.
package golden_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

var recordFlag = flag.Bool("record", false, "record executions of the current format where they are missing")

// guests are the folders of the guest, by language.
var guests = map[string]string{"go": "tests/guests/golden", "rust": "tests/guests/golden/rust"}

// TestJournalsOfAllFormatsAreReplayed brings recorded executions back from their
// journals. They arrive at the recorded result, to the byte, and nothing is performed
// for that.
func TestJournalsOfAllFormatsAreReplayed(t *testing.T) {
	t.Parallel()
	for format := 1; format <= journal.CurrentFormat; format++ {
		for language := range guests {
			t.Run(strconv.Itoa(format)+"/"+language, func(t *testing.T) {
				t.Parallel()
				r := recorded(t, format, language)
				for kind, store := range map[string]journal.Store{"sqlite": harness.Store(t, "sqlite"), "memory": memory.New()} {
					row, entries := replay(t, store, r)
					require.Equal(t, journal.Completed, row.State, "%s: %v", kind, row.Error)
					got := recording{result: row.Value}
					require.Equal(t, r.saw(t), got.saw(t), kind)
					require.Equal(t, r.result, row.Value, kind)
					require.Equal(t, r.entries, entries, "%s: nothing was delivered or performed anew", kind)
				}
			})
		}
	}
}

// TestRecordingsAreReadable keeps the listings that reviewers read true.
func TestRecordingsAreReadable(t *testing.T) {
	t.Parallel()
	for language := range guests {
		for format := 1; format <= journal.CurrentFormat; format++ {
			r := recorded(t, format, language)
			listing, err := os.ReadFile(filepath.Join(folder(format, language), listingFile))
			require.NoError(t, err)
			require.Equal(t, string(listing), r.listing(t))
		}
	}
}

func folder(format int, language string) string {
	return filepath.Join("testdata", strconv.Itoa(format), language)
}

// oneAtATime has each recording made by one test.
var oneAtATime sync.Mutex

// recorded loads a recording. With -record it is made if it is one of the current
// format and missing.
func recorded(t *testing.T, format int, language string) recording {
	t.Helper()
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	dir := folder(format, language)
	if _, err := os.Stat(dir); err != nil && *recordFlag && format == journal.CurrentFormat {
		save(t, dir, record(t, guests[language]))
	}
	return load(t, dir)
}

// replay puts a recording into a store as it was before its end was committed, and has
// a host recover it. The host has more memory for its guests than the one that the
// execution was started on.
func replay(t *testing.T, store journal.Store, r recording) (*journal.Execution, []journal.Entry) {
	t.Helper()
	first := harness.Engine(t, store)
	_, err := first.Push(t.Context(), host.PushRequest{Name: "golden", Binary: r.module})
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))

	fences, err := store.ClaimShards(t.Context(), "the test")
	require.NoError(t, err)
	row := r.row
	row.State, row.WakeAt = journal.Running, journal.Now
	row.Value, row.Error, row.FinishedAt, row.Waiting = nil, nil, 0, journal.Waiting{}
	results, err := store.Commit(t.Context(), []journal.Write{{
		ID: row.ID, Run: row.Run, Fence: fences[row.ID.Shard()], Start: &row, Entries: slices.Clone(r.entries), Interrupt: row.Interrupt,
	}})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)

	second := harness.Engine(t, store, func(c *host.Config) { c.Wasm.MemoryLimit = 96 << 20 })
	ended := harness.Wait(t, second, execution)
	entries, _, err := second.History(t.Context(), "", execution, 0, 1000)
	require.NoError(t, err)
	page, err := second.List(t.Context(), journal.Filter{Namespace: row.Namespace, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Executions, 1, "no callee was started")
	return ended, entries
}
