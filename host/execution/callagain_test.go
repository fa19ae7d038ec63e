package execution

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// eachFixture runs a test in a bubble of virtual time, on each store.
func eachFixture(t *testing.T, test func(t *testing.T, f *fixture)) {
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newFixtureOn(t, open(t), nil, nil)) })
		})
	}
}

// setScripts sets the scripts that guests follow from now on.
func (f *fixture) setScripts(scripts map[string][]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, lines := range scripts {
		f.scripts[name] = lines
	}
}

// runs is the current run of a callee, and how many it has taken the place of.
func (f *fixture) runs(t *testing.T, workflow string) (row *journal.Execution, earlier int) {
	t.Helper()
	synctest.Wait()
	id := rowOf(workflow, "child").ID
	row, err := f.store.Load(t.Context(), id)
	require.NoError(t, err)
	rows, err := f.store.Earlier(t.Context(), id, 0, 100)
	require.NoError(t, err)
	return row, len(rows)
}

// TestContinuedParentsCallAgain starts a parent over whose callee has failed. The new run continues before it comes to
// the call: the callee starts anew all the same, and once.
func TestContinuedParentsCallAgain(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{"w": {"call c", "failed too"}, "c": {"failed no"}})
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		_, earlier := f.runs(t, "c")
		require.Zero(t, earlier)
		f.setScripts(map[string][]string{"w": {"deferred d", "continue"}})
		require.Equal(t, "ok\n", f.startOver(row))
		synctest.Wait()
		f.setScripts(map[string][]string{"w": {"call c", "deferred e", "continue"}})
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		require.NoError(t, f.request(ref, "settle", []string{"d"}))
		callee, earlier := f.runs(t, "c")
		require.Equal(t, 1, earlier, "the one that the run before has called did not complete")
		f.setScripts(map[string][]string{"w": {"call c", "done ok"}})
		require.NoError(t, f.request(ref, "settle", []string{"e"}))
		again, earlier := f.runs(t, "c")
		require.Equal(t, 1, earlier, "it was called by a run that this one continues")
		require.Equal(t, callee.Run, again.Run)
		ended, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, ended.State)
	})
}

// TestParentIsStartedOverWhileItsCalleeStops ends a parent, whose callee is asked to stop and takes its time for that,
// and starts it over at once. The new run does not take the end of that callee for its own: it starts it anew.
func TestParentIsStartedOverWhileItsCalleeStops(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{
			"w": {"call c cancel", "done ok"}, "c": {"interrupted", "activity cleanup", "stop"},
		})
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, f.request(request.Ref{ID: row.ID, Name: row.Name()}, "terminate", []string{"enough"}))
		synctest.Wait()
		f.setScripts(map[string][]string{"c": {"done well"}})
		require.Equal(t, "ok\n", f.startOver(row))
		time.Sleep(time.Minute)
		stopping, _ := f.runs(t, "c")
		require.Equal(t, journal.Running, stopping.State)
		f.decide(2, "ok cleaned")
		time.Sleep(time.Minute)
		callee, earlier := f.runs(t, "c")
		require.Equal(t, 1, earlier)
		require.Equal(t, journal.Completed, callee.State)
		ended, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, ended.State)
		entries, _, err := f.store.Entries(t.Context(), ended.RunKey(), 0, journal.PageLimit{})
		require.NoError(t, err)
		require.Equal(t, abi.MustMarshal("well"), entries[len(entries)-1].Value)
	})
}
