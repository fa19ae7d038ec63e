package crash_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// twin is everything that must not depend on the language of an example: the
// manifest of its module, and the result, journal and rows of an execution.
type twin struct {
	Manifest  abi.Manifest
	Execution string
	State     journal.State
	Value     string
	Error     *abi.Error
	Journal   []twinEntry
	Seen      []string
}

// twinEntry is a journal entry without times and turns, which may differ.
type twinEntry struct {
	Number                uint32
	Entry                 journal.EntryKind
	Kind, Name, Key, Hash string
	Attempts              uint32
	Value                 string
	Error                 *abi.Error
}

// TestExamplesAreTwins runs each example in every language with the same input,
// each on a fresh store, and compares the executions.
func TestExamplesAreTwins(t *testing.T) {
	t.Parallel()
	runtime := newRuntime(t)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			payments := countCharges(t)
			var first *twin
			for _, l := range languages {
				d := newDriver(t, harness.Store(t, "sqlite"), runtime, false)
				d.push(l, s, payments)
				other := d.twin(s)
				if first == nil {
					first = other
				}
				require.Equal(t, first, other, "%s differs from %s", l.name, languages[0].name)
			}
		})
	}
}

// TestOneLanguageTakesThePlaceOfAnother deploys the module of each language
// over that of the one before: its migrations are the same, so the tables that
// are there are its own.
func TestOneLanguageTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	runtime := newRuntime(t)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, harness.Store(t, "sqlite"), runtime, false)
			payments := countCharges(t)
			d.push(languages[0], s, payments)
			want := observe(t, d, s, "original")
			for _, l := range append(slices.Clone(languages[1:]), languages[0]) {
				d.push(l, s, payments)
				require.Equal(t, want, observe(t, d, s, "after-"+l.name), "under %s", l.name)
			}
		})
	}
}

// TestRustExamplesAreSmall holds the modules to what the documentation says of
// their size.
func TestRustExamplesAreSmall(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		size := len(harness.Module(t, "modules/examples/"+s.example+"/rust"))
		require.LessOrEqual(t, size, 300<<10, "%s has %d bytes", s.example, size)
	}
}

// twin runs a scenario and collects what must be the same in all languages.
func (d *driver) twin(s scenario) *twin {
	t := d.t
	deployment, err := d.current().Deployment(t.Context(), "", s.example)
	require.NoError(t, err)
	out := &twin{Manifest: *deployment.Manifest}
	require.NotEmpty(t, out.Manifest.SDK)
	out.Manifest.SDK = ""

	row := s.run(d, "twin")
	out.Execution, out.State, out.Value, out.Error = row.Name(), row.State, readable(row.Value), row.Error
	entries, err := d.store.Entries(t.Context(), row.ID, 0, 10_000)
	require.NoError(t, err)
	for _, en := range entries {
		out.Journal = append(out.Journal, twinEntry{
			Number: en.Op.Number, Entry: en.Kind, Kind: en.Op.Kind, Name: en.Op.Name, Key: en.Op.Key, Hash: hex.EncodeToString(en.Op.Hash),
			Attempts: en.Attempts, Value: readable(en.Value), Error: en.Error,
		})
	}
	// Ops of the same time are delivered in any order.
	slices.SortStableFunc(out.Journal, func(a, b twinEntry) int { return int(a.Number) - int(b.Number) })
	for _, q := range s.rows {
		out.Seen = append(out.Seen, render(t, "twin", d.query(q, "twin")))
	}
	return out
}

// readable shows the bytes of a value, without ids that were drawn at random:
// each language draws its own.
func readable(value []byte) string {
	return fmt.Sprintf("%q", varying.ReplaceAll(value, []byte("ID")))
}
