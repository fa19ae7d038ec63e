package execution

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// afterStart does something between the moment a start is durable and the moment its
// caller goes on.
type afterStart struct {
	Committer
	do func()
}

func (c *afterStart) Commit(w journal.Write) (journal.Result, error) {
	res, err := c.Committer.Commit(w)
	if w.Start != nil {
		c.do()
	}
	return res, err
}

// TestStartThatIsFoundFirst has an execution found in the store and run to its end
// before the caller of its start goes on.
func TestStartThatIsFoundFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done once"}
		row := rowOf("w", "k")
		found := ""
		f.x.Committer = &afterStart{f.x.Committer, func() {
			f.x.Wake(row.ID)
			synctest.Wait()
			found = f.takeNotes()
		}}
		existed, err := f.x.Start(t.Context(), row)
		require.NoError(t, err)
		require.False(t, existed)
		synctest.Wait()
		require.Contains(t, found, "watchers are told: completed once")
		require.Empty(t, f.takeNotes(), "it ran a second time")
		require.Zero(t, f.x.Count())
	})
}

// TestStartThatRecoveryFinds has recovery find an execution before the caller of its
// start goes on. It is not loaded: its start is about to bring it.
func TestStartThatRecoveryFinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done once"}
		row := rowOf("w", "k")
		found := ""
		f.x.Committer = &afterStart{f.x.Committer, func() {
			f.takeNotes()
			f.x.EnsureInMemory(row.ID)
			synctest.Wait()
			found = f.takeNotes()
		}}
		_, err := f.x.Start(t.Context(), row)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, found)
		require.Contains(t, f.takeNotes(), "watchers are told: completed once")
		require.Zero(t, f.x.Count())
	})
}

// TestStartOfASweptName starts an execution whose name was used before. A run of the
// earlier one is still in memory, because it is held.
func TestStartOfASweptName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done once"}
		first := rowOf("w", "k")
		f.x.runs.Hold(first.ID)
		_, err := f.x.Start(t.Context(), first)
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, f.x.InMemory(first.ID))
		n, err := f.store.Sweep(t.Context(), f.commits.fences, journal.Never, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		f.takeNotes()

		second := rowOf("w", "k")
		second.CreatedAt++
		existed, err := f.x.Start(t.Context(), second)
		require.NoError(t, err)
		require.False(t, existed)
		f.x.runs.Unhold(first.ID)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed once", "the second did not run")
	})
}

// TestStartGivenUpInDoubt has the caller of a start leave before the store can tell
// whether it is durable. It is, so it must run.
func TestStartGivenUpInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		f.commits.next = []string{"lose"}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := f.x.Start(ctx, rowOf("w", "k"))
		require.Equal(t, abi.CodeStore, abi.CodeOf(err))
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
	})
}

// TestStartThatIsLost has the commit of a start dropped. It is repeated.
func TestStartThatIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		f.commits.next = []string{"drop", "drop"}
		existed, err := f.x.Start(t.Context(), rowOf("w", "k"))
		require.NoError(t, err)
		require.False(t, existed)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
	})
}
