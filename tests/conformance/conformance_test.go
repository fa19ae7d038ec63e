package conformance

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type object = map[string]any

// testCase is one workflow, started once, and its expected end.
type testCase struct {
	name     string
	workflow string
	// needs are other workflows that the case needs.
	needs []string
	// only names the one language in which the case makes sense.
	only  string
	input any
	// drive does what a client does: it signals and interrupts.
	drive func(t *testing.T, b *testBundle, execution string)
	// refused is the code with which the start is refused; then only the code is
	// checked.
	refused abi.Code
	// state is how it ends; empty means completed.
	state journal.State
	// want is the result of a completed execution.
	want any
	// code and text (a part of the message) describe the error in any other state;
	// words is another part of the message, by language.
	code  abi.Code
	text  string
	words map[string]string
	// journal lists what was delivered, in order, if the order is certain: see
	// deliveries.
	journal []string
	// after checks what the execution has left in the engine and the store.
	after func(t *testing.T, b *testBundle, row *journal.Execution)
	// byLanguage says that each language has a different result.
	byLanguage bool
	// chancy says that the journal may differ from run to run.
	chancy bool
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var results ledger
	world := newOutside(t)
	for _, l := range languages {
		for _, kind := range harness.StoreKinds {
			for _, evict := range []bool{false, true} {
				name := l.name + "-" + kind
				if evict {
					name += "-evicting"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					b := setup(t, l, kind, world, func(c *host.Config) { c.EvictAlways = evict })
					ran := 0
					for _, c := range allCases(world.url) {
						if !l.has(&c, b.manifest) {
							continue
						}
						ran++
						t.Run(c.name, func(t *testing.T) {
							t.Parallel()
							c.run(t, l.name, b, &results)
						})
					}
					require.GreaterOrEqual(t, ran, l.least)
				})
			}
		}
	}
}

// TestTable checks the table itself: names are unique, because they are keys, and
// most cases run in every language.
func TestTable(t *testing.T) {
	t.Parallel()
	keys, shared := map[string]bool{}, 0
	for _, c := range allCases("http://outside") {
		require.False(t, keys[c.key()], "two cases are named %q", c.name)
		keys[c.key()] = true
		if c.only == "" {
			shared++
		}
	}
	require.GreaterOrEqual(t, shared, 60)
}

func allCases(url string) []testCase {
	var all []testCase
	for _, some := range [][]testCase{
		valueCases(), refusedCases(), stepCases(), crashCases(), failureCases(), parallelCases(), orderCases(), futureCases(), deferredCases(),
		interruptCases(), childCases(), determinismCases(), sqlCases(), outsideCases(url), misuseCases(),
	} {
		all = append(all, some...)
	}
	return all
}

// key is the raw key of a case's execution: the same in every variant.
func (c *testCase) key() string { return strings.ReplaceAll(c.name, " ", "-") }

func (c *testCase) run(t *testing.T, lang string, b *testBundle, results *ledger) {
	t.Helper()
	started, existed, err := b.engine.StartWorkflow(t.Context(), host.StartRequest{
		Workflow: "conformance/" + c.workflow, Input: harness.Encode(t, c.input), Key: c.key(), KeyMode: abi.KeyRaw,
	})
	if c.refused != "" {
		require.Equal(t, c.refused, abi.CodeOf(err), "%v", err)
		return
	}
	require.NoError(t, err)
	require.False(t, existed)
	if c.drive != nil {
		c.drive(t, b, started.Name())
	}
	row := harness.Wait(t, b.engine, started.Name())
	c.check(t, lang, row)
	if c.journal != nil {
		require.Equal(t, c.journal, deliveries(t, b, row.Name()))
	}
	if c.after != nil {
		c.after(t, b, row)
	}
	results.compare(t, lang, c, b, row)
}

func (c *testCase) check(t *testing.T, lang string, row *journal.Execution) {
	t.Helper()
	if c.state == "" {
		require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		if c.want != nil {
			requireValue(t, c.want, row.Value)
		}
		return
	}
	require.Equal(t, c.state, row.State, "value %x, error %v", row.Value, row.Error)
	require.NotNil(t, row.Error)
	require.Equal(t, c.code, row.Error.Code, "%v", row.Error)
	require.Contains(t, row.Error.Message, c.text)
	require.Contains(t, row.Error.Message, c.words[lang])
	require.NotEmpty(t, row.Error.Hint, "the error has no hint")
}

// requireValue compares canonical bytes, and shows the decoded values if they
// differ.
func requireValue(t *testing.T, want any, got []byte) {
	t.Helper()
	expected, err := abi.Canonical(harness.Encode(t, want))
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
		line := en.Op.Kind
		if en.Op.Name != "" {
			line += " " + en.Op.Name
		}
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
