package host_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestAPushFitsAllPinnedCode: the calls and answers of open executions are compared with the code
// to which they are pinned, whatever was deployed since: a query that was gone in between, and a
// type that was any type in between. A check says so before.
func TestAPushFitsAllPinnedCode(t *testing.T) {
	t.Parallel()
	whole, text, all := &abi.Schema{Type: abi.TypeInt}, &abi.Schema{
		Type: abi.TypeString,
	}, &abi.Schema{Type: abi.TypeAny}
	module := func(answer, result *abi.Schema) []byte {
		w := abi.WorkflowInfo{Name: "Stay", Key: abi.KeyFromRequest}
		if answer != nil {
			w.Queries = []abi.QueryInfo{{Name: "Room", Output: answer}}
		}
		return wasmtest.Program{
			Manifest: &abi.Manifest{
				Entities: []abi.EntityInfo{{
					Name: "Rooms", Operations: []abi.OperationInfo{{Name: "Book", Output: result}},
				}},
				Workflows: []abi.WorkflowInfo{w},
			},
			Calls: []wasmtest.ImportCall{{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "gate"})}},
		}.Assemble()
	}
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		push := func(answer, result *abi.Schema) error {
			binary := module(answer, result)
			checked := e.Deployments().Check(
				t.Context(),
				host.CheckRequest{Name: "hotel", Binary: binary, Types: true},
				func(r host.CheckResult, _, _ int) error {
					if !r.Fits {
						return errors.New(r.Reason)
					}
					return nil
				},
			)
			_, pushed := e.Deployments().Push(t.Context(), host.PushRequest{Name: "hotel", Binary: binary})
			if abi.CodeOf(checked) != abi.CodeDeploymentNotFound {
				require.Equal(t, pushed, checked, "a check says before what a push would")
			}
			return pushed
		}
		require.NoError(t, push(text, whole))
		row, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
			Workflow: "hotel/Stay", Key: "7", KeyMode: abi.KeyRaw,
		})
		require.NoError(t, err)
		harness.Pending(t, e, row.Name(), abi.OpDeferred, "gate")

		require.NoError(t, push(nil, whole), "the answer is that of the open run again")
		err = push(whole, whole)
		require.Equal(t, abi.CodeStateLost, abi.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "as hotel/Stay/7: the answer to query Room: it is int, and was string")
		require.NoError(t, push(text, all), "any type is not known to differ")
		err = push(text, text)
		require.Equal(t, abi.CodeStateLost, abi.CodeOf(err), "%v", err)
		require.ErrorContains(
			t, err,
			"as hotel/Stay/7: they cannot read the result of operation Book any more: it is string, and was int",
		)

		require.NoError(
			t, e.Executions().Settle(t.Context(), "", row.Name(), journal.Deferred{Name: "gate", Value: abi.Nil}),
		)
		require.Equal(t, journal.Completed, harness.Wait(t, e, row.Name()).State)
		require.NoError(t, push(whole, text), "it is over")
	})
}
