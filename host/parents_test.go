package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// parents are workflows that call another one, which sleeps.
type parents struct {
	t     *testing.T
	store journal.Store
	e     *host.Engine
}

func (p *parents) push(name string, program wasmtest.Program) {
	program.Manifest = &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}}
	_, err := p.e.Push(p.t.Context(), host.PushRequest{Name: name, Binary: program.Assemble()})
	require.NoError(p.t, err)
}

func sleeps(d time.Duration) wasmtest.Program {
	return wasmtest.Program{Calls: []wasmtest.ImportCall{{Import: abi.OpSleep, Body: abi.MustMarshal(&abi.Sleep{Duration: int64(d)})}}}
}

func calls(workflow, key string) wasmtest.Program {
	body := abi.MustMarshal(&abi.Call{Workflow: workflow, Input: abi.Nil, Key: key, KeyMode: abi.KeyRaw})
	return wasmtest.Program{Calls: []wasmtest.ImportCall{{Import: abi.OpCall, Body: body}}}
}

// start starts an execution, once the host has room for it.
func (p *parents) start(workflow, key string) (name string) {
	harness.Eventually(p.t, "there is room for "+workflow, func() bool {
		row, _, err := p.e.StartWorkflow(p.t.Context(), host.StartRequest{Workflow: workflow, Key: key, KeyMode: abi.KeyRaw})
		if abi.CodeOf(err) == abi.CodeOverloaded {
			return false
		}
		require.NoError(p.t, err)
		name = row.Name()
		return true
	})
	return name
}

// awaitAsleep waits until an execution has left memory, to be woken by nothing but a message.
func (p *parents) awaitAsleep(name string) {
	workflow, key, _ := journal.ParseName(name)
	harness.Eventually(p.t, name+" waits", func() bool {
		row, err := p.store.Load(p.t.Context(), journal.IDOf(journal.DefaultNamespace, workflow, key))
		require.NoError(p.t, err)
		return row.WakeAt == journal.Never
	})
}

// TestParentsThatWaitTakeNoRoom has more parents wait for their children than the host has room for. Others start, a
// sleeper that is overdue after a restart wakes, and each parent learns how its child has ended: those that it has started,
// and one that all of them have found.
func TestParentsThatWaitTakeNoRoom(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		const room, many = 4, 12
		p := &parents{t: t, store: store}
		p.e = harness.Engine(t, store, func(c *host.Config) { c.IdleTimeout, c.MaxExecutions = 50*time.Millisecond, room })
		p.push("sleeper", sleeps(time.Hour))
		p.push("nap", sleeps(50*time.Millisecond))
		p.push("shared", calls("sleeper/W", "shared"))
		var names []string
		for i := range many {
			deployment := "shared"
			if i%2 == 0 {
				deployment = fmt.Sprint("own", i)
				p.push(deployment, calls("sleeper/W", fmt.Sprint(i)))
			}
			names = append(names, p.start(deployment+"/W", fmt.Sprint(i)))
		}
		for _, name := range names {
			p.awaitAsleep(name)
		}
		nap := p.start("nap/W", "1")
		p.e.Kill()

		p.e = harness.Engine(t, store, func(c *host.Config) { c.IdleTimeout, c.MaxExecutions = 50*time.Millisecond, room })
		require.Equal(t, journal.Completed, harness.Wait(t, p.e, nap).State)
		for i := range many {
			key := fmt.Sprint(i)
			if i%2 == 1 {
				key = "shared"
			}
			require.NoError(t, p.e.Terminate(t.Context(), "", "sleeper/W/"+key, "over"))
		}
		for _, name := range names {
			row := harness.Wait(t, p.e, name)
			require.Equal(t, journal.Completed, row.State, "it went on when its child had ended")
			left, err := store.Inbox(t.Context(), row.Receiver(), 0)
			require.NoError(t, err)
			require.Empty(t, left)
		}
		ids, err := store.MailReceivers(t.Context(), journal.ID{}, 10)
		require.NoError(t, err)
		require.Empty(t, ids)
	})
}
