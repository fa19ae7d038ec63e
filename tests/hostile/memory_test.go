package hostile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// greedy are ways to need more memory than a small host has. All of them end.
var greedy = map[string]struct{ code, extra []byte }{
	"memory": {code: wasmtest.Join(wasmtest.I32Const(200), []byte{0x40, 0, 0x1a})}, // memory.grow, drop
	"recursion": {
		code: wasmtest.Join(wasmtest.I32Const(400_000), wasmtest.Call(wasmtest.Self(2)), []byte{0x1a}),
		extra: wasmtest.Join([]byte{0x20, 0, 0x45, 0x04, 0x7f}, wasmtest.I32Const(0), []byte{0x05}, // if it is 0 then 0
			// else itself of one less
			[]byte{0x20, 0}, wasmtest.I32Const(1), []byte{0x6b}, wasmtest.Call(wasmtest.Self(2)), []byte{0x0b}),
	},
}

// greedyModule has a workflow that is greedy itself, or that runs an activity which is: an
// activity is told by that it cannot issue ops.
func greedyModule(where string, code, extra []byte) []byte {
	manifest := abi.MustMarshal(abi.Manifest{
		Activities: []abi.ActivityInfo{{Name: "a"}},
		Workflows:  []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}},
	})
	outcome := abi.MustMarshal(abi.Outcome{Value: abi.Nil})
	op := abi.MustMarshal(abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Retries: 3, Base: 1}})
	put := func(at, n int) []byte {
		return wasmtest.Join(wasmtest.I32Const(int32(at)), wasmtest.I32Const(int32(n)))
	}
	done := wasmtest.Join(put(len(manifest), len(outcome)), wasmtest.Call(0), wasmtest.I32Const(abi.StatusDone))
	start := wasmtest.Join(code, done)
	if where == inActivity {
		start = wasmtest.Join(put(len(manifest)+len(outcome), len(op)), wasmtest.Call(1),
			wasmtest.I32Const(0), []byte{0x48, 0x04, 0x7f}, start, []byte{0x05}, // if it is refused
			wasmtest.I32Const(abi.StatusParked), []byte{0x0b}) // else
	}
	return wasmtest.Module{
		Imports: []wasmtest.Import{
			wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen), wasmtest.Cruster(abi.OpActivity, wasmtest.TypeOp),
		},
		Describe: wasmtest.Join(put(0, len(manifest)), wasmtest.Call(0)),
		Start:    start, Resume: done, Extra: extra, Pages: 1,
		Data: wasmtest.Join(manifest, outcome, op),
	}.Assemble()
}

// TestMemoryThatTheHostNeverHas lets guests need more memory than the host has for all of them: no waiting and no
// repeating would help. The workflow is paused, and goes on on a larger host; the attempt of the activity fails, and
// there is no other.
func TestMemoryThatTheHostNeverHas(t *testing.T) {
	t.Parallel()
	for how, g := range greedy {
		for _, where := range []string{inWorkflow, inActivity} {
			t.Run(how+" in "+where, func(t *testing.T) {
				t.Parallel()
				store := harness.Store(t, "sqlite")
				small := setupOn(t, store, func(c *host.Config) { c.Memory = 8 << 20 })
				require.NoError(t, small.push(t, "greedy", greedyModule(where, g.code, g.extra)))
				name := harness.Start(t, small.engine, "greedy/W", nil)
				row := harness.Wait(t, small.engine, name)
				if where == inActivity {
					requireOneAttempt(t, small, row)
					return
				}
				require.Equal(t, journal.Paused, row.State, "%v", row.Error)
				requireNever(t, row.Error, abi.CodeGuestMemory)
				small.requireGoesOn(t)

				require.NoError(t, small.engine.Stop(t.Context()))
				large := setupOn(t, store)
				require.NoError(t, large.engine.Executions().Resume(t.Context(), "", name))
				require.Equal(t, journal.Completed, harness.Wait(t, large.engine, name).State)
			})
		}
	}
}

// requireOneAttempt checks that the activity of an execution was tried once, and was not failed for the host's sake.
func requireOneAttempt(t testing.TB, b *testBundle, row *journal.Execution) {
	t.Helper()
	require.Equal(t, journal.Completed, row.State, "its workflow does not mind: %v", row.Error)
	entries, _, err := b.engine.Observer().History(t.Context(), "", row.Name(), 0, 10)
	require.NoError(t, err)
	require.Len(t, entries, 1, "one delivery, and no failed attempt before it")
	require.EqualValues(t, 1, entries[0].Attempts)
	requireNever(t, entries[0].Error, abi.CodeActivityCrashed)
}

func requireNever(t testing.TB, err *abi.Error, code abi.Code) {
	t.Helper()
	requireCode(t, err, code)
	require.False(t, err.Retryable)
	require.Contains(t, err.Hint, "--memory")
	require.Contains(t, err.Hint, "--guest-memory")
}
