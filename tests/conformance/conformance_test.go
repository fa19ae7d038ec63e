package conformance

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
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

// testCase is one workflow, started once, and what must become of it.
type testCase struct {
	name     string
	workflow string
	input    any
	// drive does what the outside does: signals, interrupts.
	drive func(t *testing.T, b *testBundle, execution string)
	// state is how it ends; empty means completed.
	state journal.State
	// want is the result of a completed execution.
	want any
	// code and text (a part of the message) are those of the error of any other.
	code abi.Code
	text string
	// journal is what was delivered, in order, if that is certain: see entryLine.
	journal []string
	// after looks at what is left behind.
	after func(t *testing.T, b *testBundle, row *journal.Execution)
	// differs says that the result is not the same everywhere.
	differs bool
}

// testBundle is one engine with the module deployed; all cases of one variant
// share it.
type testBundle struct {
	engine *host.Engine
	store  journal.Store
	logs   *logKeeper
	// url is where an HTTP server listens that the deployment may call.
	url string
}

func setup(t *testing.T, kind string, options ...func(*host.Config)) *testBundle {
	t.Helper()
	b := &testBundle{store: harness.Store(t, kind), logs: &logKeeper{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" || r.Header.Get("X-Key") == "" {
			http.Error(w, "not here", http.StatusNotFound)
			return
		}
		w.Header().Set("X-Answer", r.Method)
		_, _ = w.Write([]byte("pong"))
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	options = append([]func(*host.Config){func(c *host.Config) { c.Logger = b.logs.logger() }}, options...)
	b.engine = harness.Engine(t, b.store, options...)
	harness.Push(t, b.engine, "conformance", "tests/guests/conformance", func(r *host.PushRequest) {
		r.AllowHTTP = []string{strings.TrimPrefix(server.URL, "http://")}
		r.Config = map[string]string{"greeting": "hello", "empty": ""}
	})
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var results ledger
	for _, kind := range harness.StoreKinds {
		for _, evict := range []bool{false, true} {
			name := kind
			if evict {
				name += "-evicting"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, kind, func(c *host.Config) { c.EvictAlways = evict })
				for _, c := range allCases(b) {
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						row := c.run(t, b)
						if !c.differs {
							results.compare(t, c.name, row)
						}
					})
				}
			})
		}
	}
}

func allCases(b *testBundle) []testCase {
	var all []testCase
	for _, some := range [][]testCase{
		valueCases(), stepCases(), crashCases(), parallelCases(), deferredCases(), interruptCases(),
		childCases(), determinismCases(), sqlCases(), outsideCases(b), misuseCases(),
	} {
		all = append(all, some...)
	}
	return all
}

// key is the raw key of a case's execution: the same in every variant.
func (c *testCase) key() string { return strings.ReplaceAll(c.name, " ", "-") }

func (c *testCase) run(t *testing.T, b *testBundle) *journal.Execution {
	t.Helper()
	started, existed, err := b.engine.StartWorkflow(t.Context(), host.StartRequest{
		Workflow: "conformance/" + c.workflow, Input: harness.Encode(t, c.input), Key: c.key(), KeyMode: abi.KeyRaw,
	})
	require.NoError(t, err)
	require.False(t, existed)
	if c.drive != nil {
		c.drive(t, b, started.Name())
	}
	row := harness.Wait(t, b.engine, started.Name())
	c.check(t, row)
	if c.journal != nil {
		require.Equal(t, c.journal, deliveries(t, b, row.Name()))
	}
	if c.after != nil {
		c.after(t, b, row)
	}
	return row
}

func (c *testCase) check(t *testing.T, row *journal.Execution) {
	t.Helper()
	if c.state == "" {
		require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		if c.want != nil {
			require.Equal(t, harness.Decode[any](t, harness.Encode(t, c.want)), harness.Decode[any](t, row.Value))
		}
		return
	}
	require.Equal(t, c.state, row.State, "value %x, error %v", row.Value, row.Error)
	require.NotNil(t, row.Error)
	require.Equal(t, c.code, row.Error.Code, "%v", row.Error)
	require.Contains(t, row.Error.Message, c.text)
	require.NotEmpty(t, row.Error.Hint, "every error says what to do")
}

// deliveries is the journal in short, one line a delivery: "activity square".
func deliveries(t *testing.T, b *testBundle, execution string) []string {
	t.Helper()
	entries, err := b.engine.History(t.Context(), "", execution, 0, 0)
	require.NoError(t, err)
	lines := []string{}
	for _, en := range entries {
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

// ledger holds what became of each case in the variant that was first, and
// holds the others against it.
type ledger struct{ byName sync.Map }

type ledgerLine struct {
	State journal.State
	Value any
	Error *abi.Error
}

func (l *ledger) compare(t *testing.T, name string, row *journal.Execution) {
	t.Helper()
	line := ledgerLine{State: row.State, Error: row.Error}
	if row.Value != nil {
		line.Value = harness.Decode[any](t, row.Value)
	}
	if first, loaded := l.byName.LoadOrStore(name, line); loaded {
		require.Equal(t, first, line, "another variant came to another result")
	}
}
