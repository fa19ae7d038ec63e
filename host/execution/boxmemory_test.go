package execution

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/journal"
)

// restingWithArrivals has many signals come to an execution that takes nothing out of its box: the store refuses a
// write of it for a while, and it rests.
func (f *fixture) restingWithArrivals(t *testing.T) *journal.Execution {
	f.scripts["w"] = []string{"activity a", "receive go", "done ok"}
	row := rowOf("w", "k")
	_, err := f.x.Starter.Start(t.Context(), row, nil)
	require.NoError(t, err)
	synctest.Wait()
	f.nextCommits("fail", "fail", "fail", "fail", "fail", "fail", "fail", "fail", "fail", "fail")
	f.decide(1, "ok one")
	time.Sleep(2 * time.Second)
	synctest.Wait()
	f.nextCommits()
	for i := range manySignals {
		f.signal(t, row, fmt.Sprint("other", i%2))
	}
	require.Positive(t, f.boxed(row), "it rests")
	return row
}

// boxed counts the notices in the box of an execution.
func (f *fixture) boxed(row *journal.Execution) int { return len(f.x.runs.Queued(row.ID)) }

// TestArrivalsArePaidFor: an execution that rests pays for the notices of messages in its box. There is one permit for
// a message, of its notice and then of it as a message that the execution knows.
func TestArrivalsArePaidFor(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, open(t), nil, nil)
				row := f.restingWithArrivals(t)
				notices := f.x.Queued.Used()
				require.GreaterOrEqual(t, notices, int64((manySignals-keptMessages)*messageCost), "in its box")
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Zero(t, f.boxed(row))
				require.EqualValues(t, manySignals*messageCost, f.x.Queued.Used(), "received")
				f.signal(t, row, "go")
				synctest.Wait()
				require.Equal(t, journal.Completed, f.stateOf(t, row))
				require.Zero(t, f.x.Queued.Used())
			})
		})
	}
}

// TestArrivalsThatCannotPayAreDropped: if there is no memory for the notices of messages, or one execution has its part
// of it, its box says that there are more of them, once. It finds them in its inbox, each of them once.
func TestArrivalsThatCannotPayAreDropped(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, open(t), nil, nil)
				f.queueOutOf(budget.New(mailPart * 100 * (messageCost + maxAnnounced)))
				row := f.restingWithArrivals(t)
				require.LessOrEqual(t, f.boxed(row), 102)
				require.LessOrEqual(t, f.x.Queued.Used(), f.x.Queued.Total()/mailPart)
				time.Sleep(time.Minute)
				synctest.Wait()
				r, found := f.x.runs.Get(row.ID)
				require.True(t, found)
				require.Equal(t, manySignals, sharedledger.Look(r.ledger, (*ledger.Ledger).Messages))
				f.signal(t, row, "go")
				synctest.Wait()
				require.Equal(t, journal.Completed, f.stateOf(t, row))
				require.Zero(t, f.x.Queued.Used())
			})
		})
	}
}

// TestArrivalsWithoutMemory has a signal and a question for the result come to an execution that is at its end, while
// there is no memory for notices of them. The caller that asks gets the result.
func TestArrivalsWithoutMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["callee"] = []string{"activity a", "done its result"}
		f.scripts["w"] = []string{"call callee", "done ok"}
		callee := rowOf("callee", "child")
		_, err := f.x.Starter.Start(t.Context(), callee, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.nextCommits("fail", "fail", "fail", "fail", "fail", "fail", "fail", "fail", "fail", "fail")
		f.decide(1, "ok one")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		f.nextCommits()
		others, ok := f.x.Queued.TryAcquire(f.x.Queued.Total())
		require.True(t, ok)
		for range keptMessages {
			f.signal(t, callee, "other")
		}
		boxed := f.x.runs.Queued(callee.ID)
		require.True(t, boxed[keptMessages].(ofChain).notice.(messageArrived).tellsOfMore())
		row := rowOf("w", "k") // which finds the callee, and asks it for its result
		_, err = f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, keptMessages+1, f.boxed(callee), "it tells of the question as well")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, journal.Completed, f.stateOf(t, callee))
		require.Equal(t, journal.Completed, f.stateOf(t, row))
		require.Contains(t, f.takeNotes(), "its result")
		others.Release()
		require.Zero(t, f.x.Queued.Used())
	})
}

// TestResultsWithoutMemory: notices of results that cannot be paid for become one notice to look into the inbox.
func TestResultsWithoutMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := f.restingWithArrivals(t)
		others, ok := f.x.Queued.TryAcquire(f.x.Queued.Total() - f.x.Queued.Used())
		require.True(t, ok)
		before := f.boxed(row)
		for range manySignals {
			m := journal.ResultTo(
				row.Receiver(), journal.NewOrigin(), journal.Caller{ID: row.ID, Run: row.Run}, 1,
				abi.MustMarshal(&abi.Outcome{Value: abi.Nil}),
			)
			f.x.shared.announce([]journal.Sent{m})
		}
		require.Equal(t, before+1, f.boxed(row))
		others.Release()
	})
}

// TestArrivalsDoNotKeepTheirRunOut: there is no memory to load an execution. The notices that wait for that have none
// meanwhile.
func TestArrivalsDoNotKeepTheirRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := f.withManySignals(t)
		f.leave(t, row)
		others, ok := f.x.Queued.TryAcquire(f.x.Queued.Total() - manySignals*messageCost/2)
		require.True(t, ok)
		for range manySignals {
			f.signal(t, row, "other")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, others.Bytes(), f.x.Queued.Used())
		require.Positive(t, f.boxed(row), "it will be loaded")
		others.Release()
		f.signal(t, row, "go")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, journal.Completed, f.stateOf(t, row))
		require.Zero(t, f.x.Queued.Used())
	})
}
