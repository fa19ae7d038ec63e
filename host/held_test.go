package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func locks(entities ...string) wasmtest.ImportCall {
	return wasmtest.ImportCall{Import: abi.OpLock, Body: abi.MustMarshal(&abi.Lock{Entities: entities})}
}

func asks(t *testing.T, entity, operation string, input any) wasmtest.ImportCall {
	return wasmtest.ImportCall{
		Import: abi.OpEntityCall,
		Body: abi.MustMarshal(&abi.EntityMessage{
			Entity: entity, Operation: operation, Input: harness.Encode(t, input),
		}),
	}
}

// hold has an execution lock an entity, and stay in its section.
func (p *parents) hold(entity string) (holder string) {
	forever := wasmtest.ImportCall{
		Import: abi.OpSleep, Body: abi.MustMarshal(&abi.Sleep{Duration: int64(1000 * time.Hour)}),
	}
	p.push("holder", wasmtest.Program{Calls: []wasmtest.ImportCall{locks(entity), forever}, Stays: true})
	holder = p.start("holder/W", "1")
	harness.Eventually(p.t, "the entity is locked", func() bool {
		found, _, _, err := p.e.Entities().Locks(p.t.Context(), journal.LockFilter{})
		require.NoError(p.t, err)
		return len(found) == 1
	})
	return holder
}

// TestWaitingForAnEntityTakesNoRoom has more executions wait for an entity that another one holds
// than the host has room for: some want to lock it, others to call it. Others start, a sleeper that
// is overdue after a restart wakes, and all go on when the section has ended.
func TestWaitingForAnEntityTakesNoRoom(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		const room, many = 4, 12
		tight := func(c *host.Config) { c.IdleTimeout, c.MaxExecutions = time.Hour, room }
		p := &parents{t: t, store: store}
		p.e = harness.Engine(t, store, tight)
		harness.Push(t, p.e, "bank", "tests/guests/entities")
		p.push("locker", wasmtest.Program{
			Calls: []wasmtest.ImportCall{locks("bank/Account/held", "bank/Account/other")},
		})
		p.push("caller", wasmtest.Program{Calls: []wasmtest.ImportCall{asks(t, "bank/Account/held", "deposit", 1)}})
		p.push("nap", sleeps(time.Hour))
		holder := p.hold("bank/Account/held")
		var names []string
		for i := range many {
			names = append(names, p.start([]string{"locker/W", "caller/W"}[i%2], fmt.Sprint(i)))
		}
		nap := p.start("nap/W", "1")
		harness.Eventually(t, "most have left memory", func() bool { return p.asleep(names) >= many-room })

		p.restart(tight)
		require.Equal(t, journal.Completed, harness.Wait(t, p.e, nap).State)
		p.start("nap/W", "2")
		require.NoError(t, p.e.Executions().Terminate(t.Context(), "", holder, "over"))
		for _, name := range names {
			row := harness.Wait(t, p.e, name)
			require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		}
		b := &bank{t, p.e}
		require.EqualValues(t, many/2, b.must("Account/held", "balance", nothing), "each call was performed once")
		for _, key := range []string{"held", "other"} {
			left, err := store.Inbox(
				t.Context(), journal.Receiver{ID: journal.EntityID(journal.DefaultNamespace, "bank/Account", key)}, 0,
			)
			require.NoError(t, err)
			require.Empty(t, left)
		}
	})
}

// TestLostAnswersOfEntitiesAreFound has the host die around the commits by which executions leave
// memory while an entity is held, and by which it answers them. They go on on the next host, and
// their calls are performed once.
func TestLostAnswersOfEntitiesAreFound(t *testing.T) {
	t.Parallel()
	for point, leaving := range map[string]bool{
		faultpoint.EntityReceiveBefore: true, faultpoint.EntityReceiveAfter: true, faultpoint.EntityBeforeCommit: false,
		faultpoint.EntityAfterCommit: false, faultpoint.LockBeforeCommit: false, faultpoint.LockAfterCommit: false,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			harness.EachStore(t, func(t *testing.T, store journal.Store) {
				p := &parents{t: t, store: store}
				die := newDieAt(p, point)
				short := func(c *host.Config) { c.IdleTimeout = 20 * time.Millisecond }
				p.e = harness.Engine(t, store, short, die.option)
				harness.Push(t, p.e, "bank", "tests/guests/entities")
				p.push("locker", wasmtest.Program{
					Calls: []wasmtest.ImportCall{locks("bank/Account/held", "bank/Account/other")},
				})
				p.push("caller", wasmtest.Program{
					Calls: []wasmtest.ImportCall{asks(t, "bank/Account/held", "deposit", 1)},
				})
				holder := p.hold("bank/Account/held")
				start := func() []string { return []string{p.start("caller/W", "1"), p.start("locker/W", "1")} }
				if leaving {
					die.armed.Store(true)
					go func(e *host.Engine) {
						for _, workflow := range []string{"caller/W", "locker/W"} { // the host may die meanwhile
							_, _, _ = e.Launcher().Start(t.Context(), host.StartRequest{
								Workflow: workflow, Key: "1", KeyMode: abi.KeyRaw,
							})
						}
					}(p.e)
				} else {
					names := start()
					harness.Eventually(t, "both have left memory", func() bool { return p.asleep(names) == 2 })
					die.armed.Store(true)
					// the host may die before it answers
					_ = p.e.Executions().Terminate(t.Context(), "", holder, "over")
				}
				<-die.died
				p.restart()
				names := start()
				require.NoError(t, p.e.Executions().Terminate(t.Context(), "", holder, "over"))
				for _, name := range names {
					row := harness.Wait(t, p.e, name)
					require.Equal(t, journal.Completed, row.State, "%v", row.Error)
				}
				require.EqualValues(t, 1, (&bank{t, p.e}).must("Account/held", "balance", nothing))
			})
		})
	}
}
