package crash_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	requests "github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// twin is everything that must not depend on the language of an example: the manifest of its module, and the result,
// journal and rows of an execution.
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

// exampleScenarios are the scenarios that are about an example, not about the host.
func exampleScenarios() []scenario {
	return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool {
		return s.example == "conformance" || s.ofTheHost || s.deploys || s.retention > 0
	})
}

// TestExamplesAreTwins runs each example in every language with the same input, each on a fresh store, and compares the
// executions.
func TestExamplesAreTwins(t *testing.T) {
	t.Parallel()
	runtime := newRuntime(t)
	for _, s := range exampleScenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var first *twin
			for _, l := range languages {
				es := &engines{t: t, store: harness.Store(t, "sqlite"), runtime: runtime}
				other := twinOf(newCampaign(t, l, s, nil, es.launch), es.store)
				if first == nil {
					first = other
				}
				require.Equal(t, first, other, "%s differs from %s", l.name, languages[0].name)
			}
		})
	}
}

// TestOneLanguageTakesThePlaceOfAnother deploys the module of each language over the previous one: its migrations
// are the same, so the tables that are there are its own.
func TestOneLanguageTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	runtime := newRuntime(t)
	for _, s := range exampleScenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			es := &engines{t: t, store: harness.Store(t, "sqlite"), runtime: runtime}
			c := newCampaign(t, languages[0], s, nil, es.launch)
			c.done(c.try("original"))
			for _, l := range append(slices.Clone(languages[1:]), languages[0]) {
				c.d.push(l, s, c.payments)
				c.done(c.try("after-" + l.name))
			}
			c.compare(es.store)
		})
	}
}

// TestRustExamplesAreSmall holds the modules to the sizes in the documentation.
func TestRustExamplesAreSmall(t *testing.T) {
	t.Parallel()
	for _, s := range exampleScenarios() {
		size := len(harness.Module(t, "modules/examples/"+s.example+"/rust"))
		require.LessOrEqual(t, size, 300<<10, "%s has %d bytes", s.example, size)
	}
}

// twinOf runs a scenario and collects the results that must be the same in all languages.
func twinOf(c *campaign, store journal.Store) *twin {
	t := c.t
	tr := c.try("twin")
	deployment, err := c.d.current().target.(inProcess).Deployments().Describe(t.Context(), "", c.scenario.example)
	require.NoError(t, err)
	out := &twin{Manifest: *deployment.Manifest, Execution: tr.execution, Seen: c.observe(store, tr)}
	require.NotEmpty(t, out.Manifest.SDK)
	out.Manifest.SDK = ""

	ref, err := requests.RefOf(host.DefaultNamespace, tr.execution)
	require.NoError(t, err)
	row, err := store.Load(t.Context(), ref.ID)
	require.NoError(t, err)
	out.State, out.Value, out.Error = row.State, readable(row.Value), row.Error
	entries, _, err := store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 10_000, Bytes: 1 << 30})
	require.NoError(t, err)
	for _, en := range entries {
		if c.scenario.example == "orders" && en.Op.Name == "confirm" {
			en.Op.Hash = nil // of an input that holds the id of the charge, which no two runs share
		}
		out.Journal = append(out.Journal, twinEntry{
			Number:   en.Op.Number,
			Entry:    en.Kind,
			Kind:     en.Op.Kind,
			Name:     en.Op.Name,
			Key:      en.Op.Key,
			Hash:     hex.EncodeToString(en.Op.Hash),
			Attempts: en.Attempts,
			Value:    readable(en.Value),
			Error:    en.Error,
		})
	}
	// Ops of the same time are delivered in any order.
	slices.SortStableFunc(out.Journal, func(a, b twinEntry) int { return int(a.Number) - int(b.Number) })
	return out
}

// readable shows the bytes of a value, without ids that were drawn at random: each language draws its own.
func readable(value []byte) string {
	return fmt.Sprintf("%q", varying.ReplaceAll(value, []byte("ID")))
}
