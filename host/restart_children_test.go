package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestRestartedParentsCallAgain restarts a parent whose children have ended. Failed children run
// again, once; completed children, and children of other parents, are left alone.
func TestRestartedParentsCallAgain(t *testing.T) {
	t.Parallel()
	manifest := &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}}
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		push := func(name string, program wasmtest.Program) {
			program.Manifest = manifest
			_, err := e.Deployments().Push(t.Context(), host.PushRequest{Name: name, Binary: program.Assemble()})
			require.NoError(t, err)
		}
		call := func(workflow string) wasmtest.ImportCall {
			return wasmtest.ImportCall{
				Import: abi.OpCall,
				Body:   abi.MustMarshal(&abi.Call{Workflow: workflow, Input: abi.Nil, Key: "k", KeyMode: abi.KeyRaw}),
			}
		}
		push("fails", wasmtest.Program{Outcome: &abi.Outcome{Error: abi.Errorf(abi.CodeWorkflowFailed, "no")}})
		push("works", wasmtest.Program{Outcome: &abi.Outcome{Value: abi.Nil}})
		push("first", wasmtest.Program{Calls: []wasmtest.ImportCall{call("fails/W")}})
		push("second", wasmtest.Program{Calls: []wasmtest.ImportCall{call("works/W")}})
		push("other", wasmtest.Program{Calls: []wasmtest.ImportCall{call("fails/W")}})
		run := func(deployment string) {
			_, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
				Workflow: deployment + "/W", Key: "p", KeyMode: abi.KeyRaw,
			})
			require.NoError(t, err)
			harness.Wait(t, e, deployment+"/W/p")
		}
		restart := func(deployment string) {
			_, _, err := e.Launcher().Restart(t.Context(), "", deployment+"/W/p", host.RestartRequest{})
			require.NoError(t, err)
			harness.Wait(t, e, deployment+"/W/p")
		}
		runs := func(child string) int {
			d, err := e.Observer().Describe(t.Context(), "", child)
			require.NoError(t, err)
			require.True(t, d.State.Final())
			return 1 + len(d.Earlier)
		}
		run("first")
		run("second")
		run("other")
		require.Equal(t, []int{1, 1}, []int{runs("fails/W/k"), runs("works/W/k")})
		restart("other")
		require.Equal(t, 1, runs("fails/W/k"), "it found the one that another has called")
		restart("first")
		restart("second")
		require.Equal(t, []int{2, 1}, []int{runs("fails/W/k"), runs("works/W/k")})
		d, err := e.Observer().Describe(t.Context(), "", "fails/W/k")
		require.NoError(t, err)
		require.Equal(t, "first/W/p", d.ParentName)
		restart("first")
		require.Equal(t, 3, runs("fails/W/k"))
	})
}
