package execution

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// lateCommitter loses the answer to its first commit, which takes effect when the next is tried. That one may fail.
type lateCommitter struct {
	Committer
	fails bool
	then  func() // what happens between the two, if it is set

	tries int
	first journal.Write
}

func (c *lateCommitter) Commit(w journal.Write) (journal.Result, error) {
	switch c.tries++; c.tries {
	case 1:
		c.first = w
		return journal.Result{}, journal.ErrUndecided
	case 2:
		if _, err := c.Committer.Commit(c.first); err != nil {
			return journal.Result{}, err
		}
		if c.then != nil {
			c.then()
		}
		if c.fails {
			return journal.Result{}, errors.New("no connection")
		}
	}
	return c.Committer.Commit(w)
}

// TestStartTakesEffectLate has the first try of a start take effect when it is repeated: the caller has started the
// execution, and it runs, whatever the repeat was told.
func TestStartTakesEffectLate(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"the repeat finds its row": false, "the repeat fails": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.scripts["w"] = []string{"done ok"}
				f.committer.Committer = &lateCommitter{Committer: f.committer.Committer, fails: fails}
				existed, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
				require.NoError(t, err)
				require.False(t, existed)
				synctest.Wait()
				require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
			})
		})
	}
}

// TestStopTakesEffectLate has the first try of a request to stop take effect when it is repeated, and the repeat fail.
func TestStopTakesEffectLate(t *testing.T) {
	t.Parallel()
	for name, stop := range stopsBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				row := f.sleeper(t)
				f.committer.Committer = &lateCommitter{Committer: f.committer.Committer, fails: true}
				require.NoError(t, stop(t.Context(), f, row))
				synctest.Wait()
				require.Contains(t, f.takeNotes(), "watchers are told: interrupted")
			})
		})
	}
}

// TestStopGivenUpInDoubt has the caller of a request to stop leave before the store can tell whether it is there. It
// is, so the execution stops.
func TestStopGivenUpInDoubt(t *testing.T) {
	t.Parallel()
	for name, stop := range stopsBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				row := f.sleeper(t)
				ctx, cancel := context.WithCancel(t.Context())
				f.committer.Committer = &lateCommitter{Committer: f.committer.Committer, fails: true, then: cancel}
				require.Equal(t, abi.CodeDeadline, abi.CodeOf(stop(ctx, f, row)))
				time.Sleep(time.Minute) // in which the host repeats the commit
				require.Contains(t, f.takeNotes(), "watchers are told: interrupted")
			})
		})
	}
}

// TestInterruptThatEndsItFirst has an execution stop because of a request, as another run, before the answer to the
// request is known.
func TestInterruptThatEndsItFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := f.sleeper(t)
		f.x.evictor.evict(row.ID)
		synctest.Wait()
		late := &lateCommitter{Committer: f.committer.Committer}
		late.then = func() { // its next run ends because of it
			var i journal.Interrupt
			require.NoError(t, abi.Unmarshal(late.first.Receive.Value, &i))
			next := journal.NewRunID()
			for _, w := range []journal.Write{
				{
					ID:       row.ID,
					Run:      row.Run,
					Chain:    row.Chain,
					Continue: &journal.Continuation{Run: next, Digest: row.Digest},
				},
				{ID: row.ID, Run: next, Chain: row.Chain, Update: &journal.Update{
					State:      journal.Interrupted,
					WakeAt:     journal.Never,
					FinishedAt: 1,
					Error:      abi.Errorf(abi.CodeInterrupted, "stopped"),
					Interrupt:  &i,
				}},
			} {
				_, err := late.Committer.Commit(w)
				require.NoError(t, err)
			}
		}
		f.committer.Committer = late
		require.NoError(t, f.x.Messages.Interrupt(t.Context(), request.RefTo(row), "enough"))
	})
}

var stopsBy = map[string]func(ctx context.Context, f *fixture, row *journal.Execution) error{
	"interrupt": func(ctx context.Context, f *fixture, row *journal.Execution) error {
		return f.x.Messages.Interrupt(ctx, request.RefTo(row), "enough")
	},
	"terminate": func(ctx context.Context, f *fixture, row *journal.Execution) error {
		return f.x.Stops.Terminate(ctx, request.RefTo(row), "enough")
	},
}

// sleeper is an execution that sleeps, in memory.
func (f *fixture) sleeper(t *testing.T) *journal.Execution {
	f.scripts["w"] = []string{"interrupted; sleep 1h", "stop"}
	row := rowOf("w", "k")
	_, err := f.x.Starter.Start(t.Context(), row, nil)
	require.NoError(t, err)
	time.Sleep(time.Second)
	synctest.Wait()
	f.takeNotes()
	return row
}

// waitedFor is an execution with an activity, an update that it does not answer, and a caller that waits for its end.
func (f *fixture) waitedFor(ctx context.Context, t *testing.T) (row *journal.Execution, ended <-chan toldEnd) {
	f.scripts["w"] = []string{"activity a", "done ok"}
	row = rowOf("w", "k")
	_, err := f.x.Starter.Start(t.Context(), row, nil)
	require.NoError(t, err)
	f.update(row, "update", []string{"r", "hello", "there"})
	told := make(chan toldEnd, 1)
	go func() {
		row, err := f.x.Ends.Wait(ctx, request.RefTo(row))
		told <- toldEnd{row, err}
	}()
	synctest.Wait()
	return row, told
}

// toldEnd is what a caller learns that waits for an end.
type toldEnd struct {
	row *journal.Execution
	err error
}

// TestEndOfAReplacedRunIsTold loses the answer to the commit that ends a run, and has another run take its place before
// it looks. Callers that wait for the end of the first run learn of it, each in its way.
func TestEndOfAReplacedRunIsTold(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, open(t), nil, nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				row, ended := f.waitedFor(ctx, t)
				f.nextCommits("lose")
				f.decide(1, "ok one")
				synctest.Wait()
				require.Equal(t, "ok\n", f.startOver(row))

				told := <-ended
				require.NoError(t, told.err)
				require.Equal(t, journal.Completed, told.row.State)
				require.Equal(t, row.Run, told.row.Chain)
				synctest.Wait()
				require.Contains(t, f.takeNotes(), "CR-2040", "the update has no answer")
			})
		})
	}
}

// TestEndOfADeletedRunIsTold loses the answer to the commit that ends a run, and has the run deleted before it looks.
// Callers that wait for its end, or for its answer, are told that it is gone.
func TestEndOfADeletedRunIsTold(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		for _, again := range []bool{false, true} {
			open := openerOf(t, kind)
			t.Run(fmt.Sprintf("%s, started again %v", kind, again), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixtureOn(t, open(t), nil, nil)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					row, ended := f.waitedFor(ctx, t)
					f.nextCommits("lose")
					f.decide(1, "ok one")
					synctest.Wait()
					require.NoError(t, f.store.Delete(
						t.Context(), f.commits.fences[row.ID.Shard()], row.ID, row.Run, 0,
					))
					if again {
						_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
						require.NoError(t, err)
					}

					told := <-ended
					require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(told.err), "%v", told.err)
					synctest.Wait()
					require.Contains(t, f.takeNotes(), "update r: refused: CR-2004", "the update has no answer")
				})
			})
		}
	}
}
