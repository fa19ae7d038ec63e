// Package golden_test replays journals of every format that was ever written. A recording is a module, the row and the
// entries of an execution of it, and its result. The workflow of the module touches all that a guest can observe. So
// whatever changes the meaning of an old journal fails here: how random numbers are seeded, how arguments are hashed
// and steps are named, how WASI behaves, how a refusal is worded.
//
// Files of a recording are never written again. A change that must break them is a new format
// ([journal.CurrentFormat]): old executions keep the old behaviour, and `go test ./tests/golden -record` adds the files
// of the new format.
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
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

var recordFlag = flag.Bool("record", false, "record executions of the current format where they are missing")

// guests are the folders of the guest, by language.
var guests = map[string]string{"go": "tests/guests/golden", "rust": "tests/guests/golden/rust"}

// lives are how executions are recorded, with the first format for which there is a recording.
var lives = []struct {
	name  string
	since int
}{
	{everything, 1},
	{waiting, 2},
	{moved, 2},
}

const (
	// everything has all the refusals as well, and the module.
	everything = ""
	// waiting has entries with the steps that the run waited for: [journal.Entry.Waiting] came after the first
	// recordings of format 2.
	waiting = "waiting"
	// moved began with an earlier version of the workflow, and went on with the module.
	moved = "moved"
)

// eachRecording calls test for all recordings.
func eachRecording(t *testing.T, test func(t *testing.T, r recording, dir string)) {
	for format := 1; format <= journal.CurrentFormat; format++ {
		for language := range guests {
			for _, life := range lives {
				if format < life.since {
					continue
				}
				t.Run(filepath.Join(strconv.Itoa(format), language, life.name), func(t *testing.T) {
					t.Parallel()
					test(t, recorded(t, format, language, life.name), folder(format, language, life.name))
				})
			}
		}
	}
}

// TestJournalsOfAllFormatsAreReplayed brings recorded executions back from their journals. They arrive at the recorded
// result, to the byte, and nothing is performed for that.
func TestJournalsOfAllFormatsAreReplayed(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, r recording, _ string) {
		for kind, store := range map[string]journal.Store{
			"memory": memory.New(), "postgres": harness.Store(t, "postgres"), "sqlite": harness.Store(t, "sqlite"),
		} {
			row, entries := replay(t, store, r)
			require.Equal(t, journal.Completed, row.State, "%s: %v", kind, row.Error)
			got := recording{result: row.Value}
			require.Equal(t, r.saw(t), got.saw(t), kind)
			require.Equal(t, r.result, row.Value, kind)
			require.Equal(t, r.entries, entries, "%s: nothing was delivered or performed anew", kind)
		}
	})
}

// TestRecordingsAreReadable keeps the listings that reviewers read true.
func TestRecordingsAreReadable(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, r recording, dir string) {
		listing, err := os.ReadFile(filepath.Join(dir, listingFile))
		require.NoError(t, err)
		require.Equal(t, string(listing), r.listing(t))
	})
}

// TestRecordingsHaveWhatTheyAreFor: a recording of a moved run has the move, with steps on both sides of it, and
// entries name the steps that their run waited for.
func TestRecordingsHaveWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for language := range guests {
		r := recorded(t, journal.CurrentFormat, language, moved)
		at := slices.IndexFunc(r.entries, func(en journal.Entry) bool { return en.Kind == journal.Moved })
		require.Positive(t, at, "nothing was delivered before the move")
		require.Less(t, at, len(r.entries)-1, "nothing was delivered after the move")
		require.Equal(t, r.row.MovedAt, r.entries[at].Seq)
		r = recorded(t, journal.CurrentFormat, language, waiting)
		require.True(t, slices.ContainsFunc(r.entries, func(en journal.Entry) bool { return en.Waiting != nil }))
	}
}

func folder(format int, language, life string) string {
	return filepath.Join("testdata", strconv.Itoa(format), language, life)
}

// oneAtATime has each recording made by one test.
var oneAtATime sync.Mutex

// recorded loads a recording. With -record it is made if it is one of the current format and missing.
func recorded(t *testing.T, format int, language, life string) recording {
	t.Helper()
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	dir := folder(format, language, life)
	if _, err := os.Stat(dir); err != nil && *recordFlag && format == journal.CurrentFormat {
		switch life {
		case everything:
			r := record(t, harness.Module(t, guests[language]), refused())
			save(t, dir, r)
			saveModule(t, dir, r.module)
		case waiting:
			save(t, dir, record(t, loadModule(t, dir), []call{}))
		case moved:
			save(t, dir, recordMoved(t, language, loadModule(t, dir)))
		}
	}
	return load(t, dir)
}

// sandbox is shared by all engines that replay. It has more memory for its guests than the host had that the executions
// were started on.
var sandbox = harness.Sandbox{MemoryLimit: 96 << 20}

// replay puts a recording into a store as it was before its end was committed, and has a host recover it.
func replay(t *testing.T, store journal.Store, r recording) (*journal.Execution, []journal.Entry) {
	t.Helper()
	shared := func(c *host.Config) { c.Runtime = sandbox.Runtime(t) }
	first := harness.Engine(t, store, shared)
	_, err := first.Deployments().Push(t.Context(), host.PushRequest{Name: "golden", Binary: r.module})
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))

	fences, err := store.ClaimShards(t.Context(), "the test")
	require.NoError(t, err)
	row := r.row
	row.State, row.WakeAt = journal.Running, journal.Now
	row.Value, row.Error, row.FinishedAt, row.Waiting = nil, nil, 0, journal.Waiting{}
	results, err := store.Commit(t.Context(), []journal.Write{{
		ID: row.ID, Run: row.Run, Fence: fences[row.ID.Shard()], Start: &row, Entries: slices.Clone(r.entries),
	}})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)

	second := harness.Engine(t, store, shared)
	ended := harness.Wait(t, second, execution)
	entries, _, err := second.Observer().History(t.Context(), "", execution, 0, 1000)
	require.NoError(t, err)
	page, err := second.Observer().List(t.Context(), journal.Filter{Namespace: row.Namespace, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Executions, 1, "no callee was started")
	return ended, entries
}
