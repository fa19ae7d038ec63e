package conformance

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/tests/conformance/table"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type object = map[string]any

// testCase is a case of the table, run on a host.
type testCase struct{ table.Case }

type mode struct {
	name string
	set  func(t *testing.T, c *host.Config)
}

// modes are the ways in which a host keeps its executions. A guest may not notice.
var modes = []mode{
	{"", func(*testing.T, *host.Config) {}},
	// Each turn begins with a replay.
	{"-evicting", func(_ *testing.T, c *host.Config) {
		undertest.Of(&c.UnderTest).EvictAlways, c.HibernateAfter = true, -1
	}},
	// Each turn begins with a guest that is made from its saved state, and that is compared with a replayed guest.
	{"-hibernating", func(t *testing.T, c *host.Config) {
		undertest.Of(&c.UnderTest).EvictAlways, c.HibernateAfter = true, 1
		undertest.Of(&c.UnderTest).CompareRestored = func(restored, replayed *guest.Saved) {
			if !reflect.DeepEqual(restored, replayed) {
				t.Errorf("restored and replayed guests differ:\n%s", differenceOf(restored, replayed))
			}
		}
	}},
}

// differenceOf says in short where two states of a guest differ.
func differenceOf(a, b *guest.Saved) string {
	one, two := *a, *b
	instance := fmt.Sprintf("memory %d and %d bytes, pages %v and %v, globals %v and %v, clock %d+%d and %d+%d",
		one.Instance.Size, two.Instance.Size, one.Instance.Pages, two.Instance.Pages, one.Instance.Globals,
		two.Instance.Globals,
		one.Instance.Origin, one.Instance.Clock, two.Instance.Origin, two.Instance.Clock,
	)
	one.Instance, two.Instance = nil, nil
	return fmt.Sprintf("%s\n%+v\n%+v", instance, one, two)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var results ledger
	world := newOutside(t)
	for _, c := range extenttest.Combinations(len(languages), len(harness.StoreKinds), len(modes)) {
		l, kind, m := languages[c[0]], harness.StoreKinds[c[1]], modes[c[2]]
		t.Run(l.name+"-"+kind+m.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, l, kind, world, func(c *host.Config) { m.set(t, c) })
			ran := 0
			for _, c := range allCases() {
				if !l.has(&c, b.manifest) {
					continue
				}
				ran++
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					c.run(t, l.name, b, &results)
				})
			}
			require.GreaterOrEqual(t, ran, l.least)
		})
	}
}

func allCases() []testCase {
	var all []testCase
	for _, c := range table.Load() {
		all = append(all, testCase{c})
	}
	return all
}

func (c *testCase) run(t *testing.T, lang string, b *testBundle, results *ledger) {
	t.Helper()
	started, existed, err := b.engine.Launcher().Start(t.Context(), host.StartRequest{
		Workflow: "conformance/" + c.Workflow, Input: c.Input.Encode(b.places("")), Key: c.Key(), KeyMode: abi.KeyRaw,
	})
	if c.Refused != "" {
		require.Equal(t, c.Refused, abi.CodeOf(err), "%v", err)
		return
	}
	require.NoError(t, err)
	require.False(t, existed)
	var later []func()
	for _, s := range c.Steps {
		if s.Later {
			later = append(later, b.updateLater(t, started.Name(), &s))
			continue
		}
		b.take(t, started.Name(), &s)
	}
	row := harness.Wait(t, b.engine, started.Name())
	c.check(t, lang, row)
	for _, check := range later {
		check()
	}
	for _, s := range c.Then {
		b.take(t, started.Name(), &s)
	}
	c.checkTraces(t, lang, b, row)
	results.compare(t, c, b, row)
}

func (c *testCase) check(t *testing.T, lang string, row *journal.Execution) {
	t.Helper()
	if c.State == "" {
		require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		if c.Want != nil {
			requireValue(t, c.Want.Encode(table.Places{Execution: row.Name()}), row.Value)
		}
		return
	}
	require.Equal(t, journal.State(c.State), row.State, "value %x, error %v", row.Value, row.Error)
	require.NotNil(t, row.Error)
	require.Equal(t, c.Error.Code, row.Error.Code, "%v", row.Error)
	require.Contains(t, row.Error.Message, c.Error.Text.Text())
	require.Contains(t, row.Error.Message, c.Error.Words[lang])
	require.NotEmpty(t, row.Error.Hint, "the error has no hint")
	if c.Error.Type != nil {
		require.Equal(t, *c.Error.Type, row.Error.Type)
	}
	if c.Error.Details != nil {
		requireValue(t, c.Error.Details.Encode(table.Places{}), row.Error.Details)
	}
}

// checkTraces checks the traces of the execution in the journal and the log.
func (c *testCase) checkTraces(t *testing.T, lang string, b *testBundle, row *journal.Execution) {
	t.Helper()
	if c.Journal != nil {
		require.Equal(t, c.Journal, deliveries(t, b, row.Name()))
	}
	if parts := c.LastMessage(lang); len(parts) > 0 {
		entries := history(t, b, row.Name())
		for _, part := range parts {
			require.Contains(t, entries[len(entries)-1].Error.Message, part)
		}
	}
	if c.Logs != nil {
		harness.Eventually(t, "the last line is there", func() bool {
			return len(b.logs.of(row.Name())) >= len(c.Logs)
		})
		require.ElementsMatch(
			t, c.Logs, b.logs.of(row.Name()), "each line must be logged once, however often the workflow is replayed",
		)
	}
	if row.State == journal.Paused {
		resumeKeepsTheJournal(t, b, row)
	}
	if check, ok := furtherChecks[c.Name]; ok {
		check(t, row)
	}
}

// requireValue compares canonical bytes, and shows the decoded values if they differ.
func requireValue(t *testing.T, want, got []byte) {
	t.Helper()
	expected, err := abi.Canonical(want)
	require.NoError(t, err)
	if !bytes.Equal(expected, got) {
		require.Equal(t, harness.Decode[any](t, expected), harness.Decode[any](t, got))
		require.Equal(t, expected, got, "the values are equal but their bytes differ")
	}
}

// deliveries summarises the journal, one line for each delivery: "activity square".
func deliveries(t *testing.T, b *testBundle, execution string) []string {
	t.Helper()
	lines := []string{}
	for _, en := range history(t, b, execution) {
		line := strings.TrimSpace(en.Op.Kind + " " + en.Op.Name)
		if en.Op.Key != "" {
			line += " key " + en.Op.Key
		}
		switch {
		case en.Kind == journal.Attempt:
			line += " failed"
		case en.Error != nil:
			line += " " + string(en.Error.Code)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestFurtherChecks: a check by name that no case has would check nothing.
func TestFurtherChecks(t *testing.T) {
	t.Parallel()
	for name := range furtherChecks {
		require.NotNil(t, inputOf(name), name)
	}
}
