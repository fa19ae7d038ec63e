package golden_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// TestChangesAreNoticed proves the net: whatever a host could do otherwise than the writer of a journal, here by a
// recording that says otherwise, pauses the execution or changes its result.
func TestChangesAreNoticed(t *testing.T) {
	t.Parallel()
	for language := range guests {
		for what, change := range map[string]struct {
			life  string
			state journal.State
			apply func(t *testing.T, r *recording)
		}{
			"seed": {everything, journal.Completed, func(_ *testing.T, r *recording) { r.row.Pinned.Seed[0]++ }},
			"time": {everything, journal.Completed, func(_ *testing.T, r *recording) { r.row.Pinned.Time++ }},
			"hash": {
				everything, journal.Paused,
				func(t *testing.T, r *recording) { entry(t, r, abi.OpActivity, "note").Op.Hash[0]++ },
			},
			"name of a step": {everything, journal.Paused, func(t *testing.T, r *recording) {
				entry(t, r, abi.OpDeferred, "answer").Op.Name = "other"
			}},
			"number of an op": {
				everything, journal.Paused,
				func(t *testing.T, r *recording) { entry(t, r, abi.OpCall, "Callee").Op.Number += 1000 },
			},
			"wording of an error": {everything, journal.Completed, func(t *testing.T, r *recording) {
				entry(t, r, abi.OpCall, "Missing").Error.Message += "!"
			}},
			"wording of a refusal": {everything, journal.Completed, func(t *testing.T, r *recording) {
				said, other := []byte("SQL is not available in execute"), []byte("SQL is not accessible in execut")
				require.Contains(t, string(r.result), string(said))
				r.result = bytes.ReplaceAll(r.result, said, other)
			}},
			"a delivery of another value": {everything, journal.Completed, func(t *testing.T, r *recording) {
				entry(t, r, abi.OpDeferred, "answer").Value = harness.Encode(t, "another")
			}},
			"what the run waited for": {waiting, journal.Paused, func(t *testing.T, r *recording) {
				entry(t, r, abi.OpActivity, "note").Waiting.Steps[0]++
			}},
			"a move that is not known": {moved, journal.Paused, func(_ *testing.T, r *recording) { r.row.MovedAt = 0 }},
			"a step before a move": {moved, journal.Paused, func(t *testing.T, r *recording) {
				entry(t, r, abi.OpActivity, "note").Op.Hash[0]++
			}},
			"seed before a move": {
				moved, journal.Completed, func(_ *testing.T, r *recording) { r.row.Pinned.Seed[0]++ },
			},
		} {
			t.Run(language+"/"+what, func(t *testing.T) {
				t.Parallel()
				r := recorded(t, journal.CurrentFormat, language, change.life)
				change.apply(t, &r)
				row, _ := replay(t, memory.New(), r)
				require.Equal(t, change.state, row.State, "%v", row.Error)
				require.NotEqual(t, r.result, row.Value)
			})
		}
	}
}

// TestThePinnedMemoryIsNoticed: a run that may have more memory than before sees it.
func TestThePinnedMemoryIsNoticed(t *testing.T) {
	t.Parallel()
	r := recorded(t, journal.CurrentFormat, "rust", everything)
	r.row.Pinned.Memory += 64 << 10
	row, _ := replay(t, memory.New(), r)
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	require.NotEqual(t, r.result, row.Value)
}

// entry is the first delivery to an op of this kind and name.
func entry(t *testing.T, r *recording, kind, name string) *journal.Entry {
	t.Helper()
	i := slices.IndexFunc(r.entries, func(en journal.Entry) bool {
		return en.Kind == journal.Delivery && en.Op.Kind == kind && en.Op.Name == name
	})
	require.GreaterOrEqual(t, i, 0)
	return &r.entries[i]
}
