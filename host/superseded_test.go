package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestSignalOfASupersededStart repeats a signal-with-start whose signal and start have different request ids, when a
// new run has replaced the started run: the signal is known, or comes too late, and nothing is started.
func TestSignalOfASupersededStart(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		_, err := e.Deployments().Push(t.Context(), host.PushRequest{Name: "told", Binary: wasmtest.Program{
			Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{
				{Name: "W", Key: abi.KeyFromRequest, Signals: []abi.SignalInfo{{Name: "s"}}},
			}},
			Calls: []wasmtest.ImportCall{{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "gate"})}},
		}.Assemble()})
		require.NoError(t, err)
		send := func(signal string) (*journal.Execution, bool, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			return e.Launcher().SignalWithStart(ctx, host.StartRequest{
				Workflow: "told/W", Key: "a", KeyMode: abi.KeyRaw, IfFinished: abi.RestartFinished, RequestID: "start",
			}, host.SignalRequest{Name: "s", Value: abi.Nil, RequestID: signal})
		}
		first, existed, err := send("one")
		require.NoError(t, err)
		require.False(t, existed)
		gate := journal.Deferred{Name: "gate", Value: abi.Nil}
		require.NoError(t, e.Executions().Settle(t.Context(), "", first.Name(), gate))
		harness.Wait(t, e, first.Name())
		second, _, err := e.Launcher().Restart(t.Context(), "", first.Name(), host.RestartRequest{})
		require.NoError(t, err)
		row, existed, err := send("one")
		require.NoError(t, err)
		require.True(t, existed)
		require.Equal(t, first.Run, row.Run)
		for _, signal := range []string{"two", ""} {
			_, _, err = send(signal)
			require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(err), "%v", err)
		}
		d, err := e.Observer().Describe(t.Context(), "", first.Name())
		require.NoError(t, err)
		require.Equal(t, second.Run, d.Run)
		require.Empty(t, d.Unread, "nothing of it is for the run that has its place")
	})
}
