package storm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// pushProgram deploys a workflow "W" that makes a call and returns when that is answered.
func (h *host) pushProgram(name, operation string, body any) {
	h.t.Helper()
	program := wasmtest.Program{
		Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}},
		Calls:    []wasmtest.ImportCall{{Import: operation, Body: abi.MustMarshal(body)}},
	}
	_, err := h.client.Push(h.t.Context(), client.PushRequest{Name: name, Binary: program.Assemble()})
	require.NoError(h.t, err)
}

// TestParentsLeaveRoom has as many parents as the host may have in memory wait for children that sleep for ten minutes:
// some have started theirs, others have found it. Others start meanwhile, and an overdue one wakes after a
// restart.
func TestParentsLeaveRoom(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at store) {
		const room, families = 200, 10
		args := []string{"--max-executions", text(room)}
		first := at.host(t, args...)
		first.pushProgram("sleeper", abi.OpSleep, &abi.Sleep{Duration: int64(10 * time.Minute)})
		first.pushProgram("nap", abi.OpSleep, &abi.Sleep{Duration: int64(time.Second)})
		null := func(int) any { return nil }
		for i := range families {
			first.pushProgram("parent"+
				text(i), abi.OpCall, &abi.Call{
				Workflow: "sleeper/W", Input: abi.Nil, Key: text(i), KeyMode: abi.KeyRaw,
			})
			first.startAll("parent"+text(i)+"/W", 0, room/families, null)
		}
		first.awaitRunning("sleeper/W", families)
		first.startAll("nap/W", 0, 1, null)
		overdue := time.Now().Add(time.Second)
		first.kill()

		time.Sleep(time.Until(overdue)) // its time comes while there is no host
		second := at.host(t, args...)
		second.awaitAll("nap/W", 1)
		second.startAll("nap/W", 1, room/2, null)
		second.awaitAll("nap/W", room/2)
		for i := range families {
			second.awaitRunning("parent"+text(i)+"/W", room/families)
		}
	})
}
