package host_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
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
	_, err := p.e.Deployments().Push(p.t.Context(), host.PushRequest{Name: name, Binary: program.Assemble()})
	require.NoError(p.t, err)
}

func sleeps(d time.Duration) wasmtest.Program {
	return wasmtest.Program{
		Calls: []wasmtest.ImportCall{{Import: abi.OpSleep, Body: abi.MustMarshal(&abi.Sleep{Duration: int64(d)})}},
	}
}

func calls(workflow, key string) wasmtest.Program {
	body := abi.MustMarshal(&abi.Call{Workflow: workflow, Input: abi.Nil, Key: key, KeyMode: abi.KeyRaw})
	return wasmtest.Program{Calls: []wasmtest.ImportCall{{Import: abi.OpCall, Body: body}}}
}

// later is a clock that is ahead: a timer not yet due on a host is overdue on the next, whose clock
// it is.
type later struct {
	clockwork.Clock
	by time.Duration
}

func (l later) Now() time.Time                  { return l.Clock.Now().Add(l.by) }
func (l later) Since(t time.Time) time.Duration { return l.Now().Sub(t) }
func (l later) Until(t time.Time) time.Duration { return t.Sub(l.Now()) }

// restart kills the host, and starts another one a day later.
func (p *parents) restart(options ...func(*host.Config)) {
	p.e.Kill()
	aDayLater := func(c *host.Config) { c.Clock = later{clockwork.NewRealClock(), 24 * time.Hour} }
	p.e = harness.Engine(p.t, p.store, append(options, aDayLater)...)
}

// dieAt is a fault point at which the host of a test ends once it is armed.
type dieAt struct {
	point string
	p     *parents
	armed atomic.Bool
	died  chan struct{}
}

func newDieAt(p *parents, point string) *dieAt {
	return &dieAt{point: point, p: p, died: make(chan struct{})}
}

func (d *dieAt) option(c *host.Config) {
	undertest.Of(&c.UnderTest).FaultPoint = func(point string) {
		if point == d.point && d.armed.CompareAndSwap(true, false) {
			d.p.e.Kill()
			close(d.died)
			runtime.Goexit()
		}
	}
}

// asleep counts executions that have left memory, to be woken by nothing but a message.
func (p *parents) asleep(names []string) (n int) {
	for _, name := range names {
		workflow, key, _ := journal.ParseName(name)
		row, err := p.store.Load(p.t.Context(), journal.IDOf(journal.DefaultNamespace, workflow, key))
		require.NoError(p.t, err)
		if row.WakeAt == journal.Never {
			n++
		}
	}
	return n
}

// start starts an execution, once the host has room for it.
func (p *parents) start(workflow, key string) (name string) {
	harness.Eventually(p.t, "there is room for "+workflow, func() bool {
		row, _, err := p.e.Launcher().Start(p.t.Context(), host.StartRequest{
			Workflow: workflow, Key: key, KeyMode: abi.KeyRaw,
		})
		if abi.CodeOf(err) == abi.CodeOverloaded {
			return false
		}
		require.NoError(p.t, err)
		name = row.Name()
		return true
	})
	return name
}

// TestParentsThatWaitTakeNoRoom has more parents wait for their children than the host has room
// for. Others start, a sleeper that is overdue after a restart wakes, and each parent learns how
// its child has ended: children that it has started, and one child that all of them have found.
func TestParentsThatWaitTakeNoRoom(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		const room, many = 4, 12
		p := &parents{t: t, store: store}
		p.e = harness.Engine(t, store, func(c *host.Config) {
			c.IdleTimeout, c.MaxExecutions = 50*time.Millisecond, room
		})
		p.push("sleeper", sleeps(48*time.Hour))
		p.push("nap", sleeps(time.Hour))
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
		harness.Eventually(t, "all parents have left memory", func() bool { return p.asleep(names) == many })
		nap := p.start("nap/W", "1")
		p.restart(func(c *host.Config) { c.IdleTimeout, c.MaxExecutions = 50*time.Millisecond, room })
		require.Equal(t, journal.Completed, harness.Wait(t, p.e, nap).State)
		for i := range many {
			key := fmt.Sprint(i)
			if i%2 == 1 {
				key = "shared"
			}
			require.NoError(t, p.e.Executions().Terminate(t.Context(), "", "sleeper/W/"+key, "over"))
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

// TestLostResultsAreFound has the host die when the end of a child is durable, and its parent, which is not in memory,
// has not been told. The next host finds the result.
func TestLostResultsAreFound(t *testing.T) {
	t.Parallel()
	ends := map[string]func(p *parents, child string) error{
		faultpoint.FinalAfterCommit: func(p *parents, child string) error {
			return p.e.Executions().Settle(p.t.Context(), "", child, journal.Deferred{Name: "gate", Value: abi.Nil})
		},
		faultpoint.TerminateAfterCommit: func(p *parents, child string) error {
			return p.e.Executions().Terminate(p.t.Context(), "", child, "over")
		},
	}
	for point, end := range ends {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			harness.EachStore(t, func(t *testing.T, store journal.Store) {
				p := &parents{t: t, store: store}
				die := newDieAt(p, point)
				short := func(c *host.Config) { c.IdleTimeout = 20 * time.Millisecond }
				p.e = harness.Engine(t, store, short, die.option)
				gate := wasmtest.ImportCall{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "gate"})}
				p.push("child", wasmtest.Program{Calls: []wasmtest.ImportCall{gate}})
				p.push("parent", calls("child/W", "1"))
				name := p.start("parent/W", "1")
				harness.Eventually(t, "the parent has left memory", func() bool {
					return p.asleep([]string{name}) == 1
				})
				die.armed.Store(true)
				go func() { _ = end(p, "child/W/1") }()
				<-die.died
				require.Equal(t, 1, p.asleep([]string{name}), "it was not told")

				p.restart()
				require.Equal(t, journal.Completed, harness.Wait(t, p.e, name).State)
			})
		})
	}
}

// countedStore counts how often executions are looked up that steps have called.
type countedStore struct {
	journal.Store
	callees atomic.Int64
}

func (s *countedStore) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	s.callees.Add(1)
	return s.Store.Callee(ctx, step)
}

// TestParentsDoNotLookAtOtherChildren has the children of a parent end one by one, each while it is not in memory. It
// is brought back for each, and reads nothing about the others.
func TestParentsDoNotLookAtOtherChildren(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		const many = 6
		counted, reg := &countedStore{Store: store}, prometheus.NewRegistry()
		p := &parents{t: t, store: counted}
		p.e = harness.Engine(t, counted, func(c *host.Config) {
			c.IdleTimeout, c.Registerer = 20*time.Millisecond, reg
		})
		gate := wasmtest.ImportCall{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "gate"})}
		p.push("child", wasmtest.Program{Calls: []wasmtest.ImportCall{gate}})
		parent := wasmtest.Program{Stays: true}
		for i := range many {
			parent.Calls = append(parent.Calls, calls("child/W", fmt.Sprint(i)).Calls...)
		}
		p.push("parent", parent)
		name := p.start("parent/W", "1")
		empty := func() bool { return p.asleep([]string{name}) == 1 && inMemory(t, reg) == 0 }
		harness.Eventually(t, "all have left memory", empty)
		counted.callees.Store(0)
		row, err := store.Load(t.Context(), journal.IDOf(journal.DefaultNamespace, "parent/W", "1"))
		require.NoError(t, err)
		for i := range many - 1 {
			require.NoError(
				t,
				p.e.Executions().Settle(t.Context(), "", fmt.Sprint("child/W/", i), journal.Deferred{
					Name: "gate", Value: abi.Nil,
				}),
			)
			harness.Eventually(t, "the result is delivered, and the parent has left memory", func() bool {
				entries, _, err := store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{
					Entries: 100, Bytes: 1 << 20,
				})
				require.NoError(t, err)
				return len(entries) == i+1 && empty()
			})
		}
		require.Zero(t, counted.callees.Load())
	})
}

// inMemory counts the executions in the memory of a host.
func inMemory(t *testing.T, reg prometheus.Gatherer) (n float64) {
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "cruster_executions_in_memory" {
			n = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return n
}
