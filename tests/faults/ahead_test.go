package faults

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// TestCommitWithATurnFails lets the commit of each of three transactions fail that the turn which it causes is part of,
// in every possible way. Each step has left one row, and the result is as in an undisturbed run. A run that was too
// busy to take the turn ahead is made again.
func TestCommitWithATurnFails(t *testing.T) {
	t.Parallel()
	for _, kind := range harness.StoreKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := setup(t, kind, "tests/guests/steps", false)
			var ahead atomic.Bool // the guest has run ahead of the commit that is next
			c.restart(func(cfg *host.Config) {
				undertest.Of(&cfg.UnderTest).FaultPoint = func(point string) {
					if point == faultpoint.AheadBeforeCommit {
						ahead.Store(true)
					}
				}
			})
			for _, m := range failures["guest"] {
				for n := 1; n <= 3; n++ {
					harness.TryUntil(t, fmt.Sprintf("commit %d is %s together with a turn", n, m), func(try int) bool {
						return c.failsAhead(m, n, fmt.Sprintf("%s-%d-%d", m, n, try), &ahead)
					})
				}
			}
		})
	}
}

// failsAhead runs three steps with SQL, and has the n-th commit of a transaction fail. It reports whether a turn was
// part of that.
func (c *client) failsAhead(m mode, n int, key string, ahead *atomic.Bool) (failed bool) {
	c.t.Helper()
	seen := 0 // transactions of the one workflow come one after the other
	c.failing.fail(func(call string) mode {
		if call != "guest" {
			return healthy
		}
		was := ahead.Swap(false)
		if seen++; seen == n && was {
			failed = true
			return m
		}
		return healthy
	})
	name := c.start("steps/Steps", object{"n": 3, "sql": true, "run": key})
	require.Equal(c.t, "completed 3", c.wait(name), key)
	c.failing.counts()
	require.Equal(c.t, "[[0],[1],[2]]", c.query(`SELECT step FROM steps WHERE execution = $1 ORDER BY step`, name), key)
	return failed
}

// TestManyTransactionsAtOnce runs many workflows at the same time whose steps use SQL, one after the other and many at
// once, some of them interrupted meanwhile, with warm instances and with memory for a few. All end, and each has left
// one row for each step that its journal says it has seen the success of.
func TestManyTransactionsAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range harness.StoreKinds {
		for _, memory := range []int64{0, 48 << 20} {
			t.Run(fmt.Sprint(kind, " ", memory>>20), func(t *testing.T) {
				t.Parallel()
				store := harness.Store(t, kind)
				larger := engine(t, store) // to compile takes more memory than to run
				harness.Push(t, larger, "steps", "tests/guests/steps")
				require.NoError(t, larger.Stop(t.Context()))
				var ahead atomic.Int64
				e := engine(t, store, func(c *host.Config) {
					c.Memory, c.IdleTimeout = memory, time.Second
					undertest.Of(&c.UnderTest).FaultPoint = func(point string) {
						if point == faultpoint.AheadAfterCommit {
							ahead.Add(1)
						}
					}
				})
				var all sync.WaitGroup
				for i := range 64 {
					all.Go(func() { transact(t, e, store, i) })
				}
				all.Wait()
				t.Logf("%d turns were committed with a transaction", ahead.Load())
			})
		}
	}
}

// transact runs a workflow with SQL to its end, and holds its rows against its journal.
func transact(t *testing.T, e *host.Engine, store journal.Store, i int) {
	workflow, rows := "steps/Steps", object{"n": 5, "sql": true, "run": fmt.Sprint(i)}
	if i%4 == 1 {
		workflow = "steps/Beside"
	}
	name := harness.Start(t, e, workflow, rows)
	if i%4 == 2 {
		if err := e.Executions().Interrupt(t.Context(), "", name, "enough"); abi.CodeOf(err) != abi.CodeAlreadyOver {
			require.NoError(t, err)
		}
	}
	row := harness.Wait(t, e, name)
	if i%4 == 2 {
		require.True(t, row.State.Final(), "%s is %s: %v", name, row.State, row.Error)
	} else {
		require.Equal(t, journal.Completed, row.State, "%s: %v", name, row.Error)
		require.Equal(t, 10, harness.Decode[int](t, row.Value), name)
	}
	checkJournal(t, store, row)
	entries, _, err := store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 100})
	require.NoError(t, err)
	succeeded := 0
	for _, en := range entries {
		if en.Kind == journal.Delivery && en.Op.Kind == abi.OpActivity && en.Error == nil {
			succeeded++
		}
	}
	left := (&client{t: t, store: store}).query(
		`SELECT COUNT(*), COUNT(DISTINCT step) FROM steps WHERE execution = $1`, name,
	)
	require.Equal(t, fmt.Sprintf("[[%d,%d]]", succeeded, succeeded), left, name)
}
