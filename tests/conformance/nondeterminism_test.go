package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestNondeterminism replays a journal that does not fit its workflow. In the sandbox a workflow cannot behave
// differently on replay, so the test changes the journal: while no engine runs, it adds a delivery of an op that was
// never issued.
func TestNondeterminism(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		op    journal.Op
		shows []string
	}{
		{
			"another name",
			journal.Op{Kind: abi.OpDeferred, Name: "other", Number: 2, Hash: make([]byte, 16)},
			[]string{`op 2 deferred "other"`, `op 2 deferred "gate"`},
		},
		{
			"another kind",
			journal.Op{Kind: abi.OpSleep, Number: 2, Hash: make([]byte, 16)},
			[]string{"op 2 sleep", `op 2 deferred "gate"`},
		},
		{
			"an explicit key",
			journal.Op{Kind: abi.OpActivity, Name: "pay", Key: "k", Number: 2},
			[]string{`op 2 activity "pay" key "k"`, `op 2 deferred "gate"`},
		},
		{
			"one op too many",
			journal.Op{Kind: abi.OpSleep, Number: 77, Hash: make([]byte, 16)},
			[]string{"op 77 sleep", "nothing"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachSetting(t, func(t *testing.T, l language, kind string) {
				store := harness.Store(t, kind)
				execution := parkAtGate(t, l, store)
				row := forgeEntry(t, store, execution, journal.Entry{
					Kind: journal.Delivery, Seq: 50, Turn: 50, At: 1, Op: c.op, Value: abi.Nil,
				})

				e := harness.Engine(t, store)
				// The settlement wakes the execution. It is durable even if the call fails.
				_ = e.Executions().Settle(t.Context(), "", execution, journal.Deferred{
					Name: "gate", Value: harness.Encode(t, "open"),
				})
				stopped := harness.Wait(t, e, execution)
				require.Equal(t, journal.Paused, stopped.State)
				require.Equal(t, abi.CodeNondeterminism, stopped.Error.Code, "%v", stopped.Error)
				for _, text := range append(c.shows, "journal, entry 50") {
					require.Contains(t, stopped.Error.Message, text, "the message must show both sides")
				}
				entries, _, err := store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 10})
				require.NoError(t, err)
				require.Len(t, entries, 1, "the journal must stay as it was")
			})
		})
	}
}

// parkAtGate starts an execution that waits for its gate, and stops the engine.
func parkAtGate(t *testing.T, l language, store journal.Store) string {
	t.Helper()
	e := harness.Engine(t, store)
	deploy(t, e, l, nil)
	row, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
		Workflow: "conformance/AwaitLate", Input: harness.Encode(t, object{}),
	})
	require.NoError(t, err)
	harness.Pending(t, e, row.Name(), abi.OpDeferred, "gate")
	require.NoError(t, e.Stop(context.Background()))
	return row.Name()
}

// forgeEntry adds an entry to a journal, as an owner of the shard would.
func forgeEntry(t *testing.T, store journal.Store, execution string, entry journal.Entry) *journal.Execution {
	t.Helper()
	workflow, key, ok := journal.ParseName(execution)
	require.True(t, ok)
	id := journal.IDOf(host.DefaultNamespace, workflow, key)
	row, err := store.Load(t.Context(), id)
	require.NoError(t, err)
	fences, err := store.ClaimShards(t.Context(), "a forger")
	require.NoError(t, err)
	results, err := store.Commit(t.Context(), []journal.Write{{
		ID: id, Run: row.Run, Fence: fences[id.Shard()], Entries: []journal.Entry{entry},
	}})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	return row
}
