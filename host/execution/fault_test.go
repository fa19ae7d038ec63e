package execution

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// TestFaultsBringTheirBundle panics while an execution is worked on. The data of a bug report is
// kept with the execution.
func TestFaultsBringTheirBundle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.panicAt = faultpoint.TurnBeforeCommit
		require.NoError(
			t, f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{Name: "d", Value: abi.Nil}),
		)
		synctest.Wait()
		paused, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, abi.CodeHostFault, paused.Error.Code)
		var b faultBundle
		require.NoError(t, abi.Unmarshal(paused.Error.Details, &b))
		require.Contains(t, b.Stack, "(*run).commitPerformed")
		require.Equal(t, "script", b.Digest)
		require.NotEmpty(t, b.Go)
		require.LessOrEqual(t, len(paused.Error.Details), 2*maxFaultStack)
	})
}

// noBriefs is a store of which so many rows cannot be read.
type noBriefs struct {
	Store
	fails int
}

func (s *noBriefs) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("no connection")
	}
	return s.Store.Brief(ctx, id)
}

// TestFaultOfAReplacedRun has the host fail at a run right behind its end, and another run take its place before the
// store can be read again: that one goes on, and the end of the first is told.
func TestFaultOfAReplacedRun(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, open(t), nil, nil)
				f.scripts["w"] = []string{"activity a", "done ok"}
				row := rowOf("w", "k")
				_, err := f.x.Starter.Start(t.Context(), row, nil)
				require.NoError(t, err)
				waiting := f.x.Ends.Await(request.RefTo(row))
				defer waiting.Stop()
				synctest.Wait()
				f.mu.Lock()
				f.panicAt = faultpoint.TurnAfterCommit
				f.mu.Unlock()
				f.x.Store = &noBriefs{Store: f.x.Store, fails: 1}
				f.decide(1, "ok one")
				synctest.Wait()
				require.Equal(t, "ok\n", f.startOver(row))
				time.Sleep(time.Minute)
				synctest.Wait()

				current, err := f.store.Brief(t.Context(), row.ID)
				require.NoError(t, err)
				require.NotEqual(t, row.Run, current.Run)
				require.Equal(t, journal.Running, current.State)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				told, err := waiting.Result(ctx)
				require.NoError(t, err)
				require.Equal(t, journal.Completed, told.State)
			})
		})
	}
}
