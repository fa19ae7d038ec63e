package faults

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
)

// passings lets a test hold goroutines of the engine at fault points.
type passings struct {
	mu   sync.Mutex
	n    map[string]int           // guarded by mu
	at   map[string]chan struct{} // guarded by mu; closed at the n-th passing
	hold func(point string, n int)
}

func newPassings() *passings {
	return &passings{n: map[string]int{}, at: map[string]chan struct{}{}, hold: func(string, int) {}}
}

func (p *passings) pass(point string) {
	p.mu.Lock()
	p.n[point]++
	n, hold := p.n[point], p.hold
	if n == 1 || n == 2 {
		close(p.reachedLocked(point, n))
	}
	p.mu.Unlock()
	hold(point, n)
}

// reachedLocked is the channel that is closed at the n-th passing of a point.
func (p *passings) reachedLocked(point string, n int) chan struct{} {
	key := point + string(rune('0'+n))
	if p.at[key] == nil {
		p.at[key] = make(chan struct{})
	}
	return p.at[key]
}

// await waits for the first or second passing of a point.
func (p *passings) await(t *testing.T, point string, n int) {
	p.mu.Lock()
	reached := p.reachedLocked(point, n)
	p.mu.Unlock()
	select {
	case <-reached:
	case <-time.After(harness.Patience):
		t.Errorf("%s was not passed %d times", point, n)
	}
}

// TestCanceledWhileCommitting lets a workflow cancel an activity whose transaction is being committed. The entry is
// skipped; the workflow must not wait for it forever. Instances are evicted, so that the transaction of the step that
// wins commits alone: otherwise the other would find that it is not waited for.
func TestCanceledWhileCommitting(t *testing.T) {
	t.Parallel()
	p := newPassings()
	p.hold = func(point string, n int) {
		switch {
		case point == faultpoint.ActivityBefore && n == 2:
			p.await(t, faultpoint.TxAfterCommit, 1) // SQLite has one writer
		case point == faultpoint.TxAfterCommit && n == 1:
			p.await(t, faultpoint.TxBeforeCommit, 2)
		case point == faultpoint.TxBeforeCommit && n == 2:
			p.await(t, faultpoint.TurnAfterEffects, 2) // the other step won
		}
	}
	store := harness.Store(t, "sqlite")
	e := engine(t, store, func(c *host.Config) {
		undertest.Of(&c.UnderTest).FaultPoint, undertest.Of(&c.UnderTest).EvictAlways = p.pass, true
	})
	harness.Push(t, e, "races", "tests/guests/races")
	c := &client{t: t, engine: e, store: store}
	require.Equal(t, `completed "over"`, c.execute("races/Race", "given-up"))
	harness.Eventually(t, "both transactions took effect", func() bool {
		return c.query(`SELECT COUNT(*) FROM races`) == "[[2]]"
	})
}

// TestSettledBeforeAwaitedAndCrashed crashes right after a turn in which the workflow awaits a deferred that is already
// settled: nothing else will wake it.
func TestSettledBeforeAwaitedAndCrashed(t *testing.T) {
	t.Parallel()
	store := harness.Store(t, "sqlite")
	p := newPassings()
	first := engine(t, store, func(c *host.Config) { undertest.Of(&c.UnderTest).FaultPoint = p.pass })
	harness.Push(t, first, "races", "tests/guests/races")
	c := &client{t: t, engine: first, store: store}
	execution := c.start("races/Late", "late")
	harness.Pending(t, first, execution, abi.OpDeferred, "gate")
	c.settle(execution, "early", "there")

	crashed := make(chan struct{})
	p.mu.Lock()
	p.hold = func(point string, _ int) {
		if point == faultpoint.TurnAfterCommit {
			first.Kill()
			close(crashed)
			runtime.Goexit()
		}
	}
	p.mu.Unlock()
	c.settle(execution, "gate", "open")
	<-crashed
	require.NoError(t, first.Stop(context.Background()))

	c.engine = engine(t, store)
	require.Equal(t, `completed "there"`, c.wait(execution))
}

// TestResolveIsAnsweredTheSameAfterACrash crashes after a workflow has settled a deferred and before the reply is
// delivered to it.
func TestResolveIsAnsweredTheSameAfterACrash(t *testing.T) {
	t.Parallel()
	store := harness.Store(t, "sqlite")
	var first *host.Engine
	var once sync.Once
	crashed := make(chan struct{})
	first = engine(t, store, func(c *host.Config) {
		undertest.Of(&c.UnderTest).FaultPoint = func(point string) {
			if point == faultpoint.SettleAfterCommit {
				first.Kill()
				once.Do(func() { close(crashed) })
				runtime.Goexit()
			}
		}
	})
	harness.Push(t, first, "races", "tests/guests/races")
	c := &client{t: t, engine: first, store: store}
	execution := c.start("races/Resolve", "again")
	<-crashed
	require.NoError(t, first.Stop(context.Background()))

	c.engine = engine(t, store)
	require.Equal(t, "completed [true,false]", c.wait(execution))
}

// TestDrainBeginsNothing stops an engine while activities wait in the queue: the running one may finish, the others
// do not begin.
func TestDrainBeginsNothing(t *testing.T) {
	t.Parallel()
	p := newPassings()
	store := harness.Store(t, "sqlite")
	e := engine(t, store, func(c *host.Config) {
		undertest.Of(&c.UnderTest).FaultPoint, c.MaxActivities, c.DrainTimeout = p.pass, 1, harness.Patience
	})
	p.hold = func(point string, _ int) {
		if point == faultpoint.ActivityBefore {
			harness.Eventually(t, "the engine drains", func() bool { return e.Ready(t.Context()) != nil })
		}
	}
	harness.Push(t, e, "fanout", "modules/examples/fanout")
	c := &client{t: t, engine: e, store: store}
	execution := c.start("fanout/FanOut", object{"run": "drained", "n": 5})
	p.await(t, faultpoint.ActivityBefore, 1)
	require.NoError(t, e.Stop(context.Background()))
	p.mu.Lock()
	begun := p.n[faultpoint.ActivityBefore]
	p.mu.Unlock()
	require.Equal(t, 1, begun)

	c.engine = engine(t, store)
	require.Contains(t, c.wait(execution), "completed")
}
