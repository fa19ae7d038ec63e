package execution

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// afterStart does something between the moment a start is durable and the moment its caller goes on.
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

// TestStartThatIsFoundFirst has an execution found in the store and run to its end before the caller of its start goes
// on.
func TestStartThatIsFoundFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done once"}
		row := rowOf("w", "k")
		found := ""
		f.committer.Committer = &afterStart{f.committer.Committer, func() {
			f.x.Wake(row.ID)
			synctest.Wait()
			found = f.takeNotes()
		}}
		existed, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		require.False(t, existed)
		synctest.Wait()
		require.Contains(t, found, "watchers are told: completed once")
		require.Equal(t, "instance dropped\n", f.takeNotes(), "the turn that was taken ahead is not wanted")
		require.Zero(t, f.x.Count())
	})
}

// lostStart loses the answer to the first commit of a start, and does something before it is repeated.
type lostStart struct {
	Committer
	do func()
}

func (c *lostStart) Commit(w journal.Write) (journal.Result, error) {
	res, err := c.Committer.Commit(w)
	if do := c.do; w.Start != nil && err == nil && do != nil {
		c.do = nil
		do()
		return journal.Result{}, journal.ErrUndecided
	}
	return res, err
}

// TestStartThatIsDeletedFirst has an execution run to its end and be deleted before its start, whose answer was lost,
// is repeated. It does not run again, and the next sweep goes through.
func TestStartThatIsDeletedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done once"}
		row := rowOf("w", "k")
		sweep := func() int {
			n, err := f.store.Sweep(t.Context(), f.commits.fences, journal.Never, 10)
			require.NoError(t, err)
			return n
		}
		f.committer.Committer = &lostStart{f.committer.Committer, func() {
			end := journal.Write{
				ID:     row.ID,
				Run:    row.Run,
				Update: &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 1},
			}
			_, err := f.committer.Committer.Commit(end)
			require.NoError(t, err)
			require.Equal(t, 1, sweep())
		}}
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err))
		synctest.Wait()
		require.Zero(t, f.x.Count())
		_, err = f.store.Load(t.Context(), row.ID)
		require.ErrorIs(t, err, journal.ErrNotFound)
		require.Zero(t, sweep())
	})
}

// TestStartThatRecoveryFinds has recovery find an execution before the caller of its start goes on. It is not loaded:
// its start is about to bring it.
func TestStartThatRecoveryFinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done once"}
		row := rowOf("w", "k")
		found := ""
		f.committer.Committer = &afterStart{f.committer.Committer, func() {
			f.takeNotes()
			f.x.EnsureInMemory(row.ID)
			synctest.Wait()
			found = f.takeNotes()
		}}
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "guest start\n", found, "the first turn, ahead of the start; it is not loaded")
		require.Contains(t, f.takeNotes(), "watchers are told: completed once")
		require.Zero(t, f.x.Count())
	})
}

// TestStartOfASweptName starts an execution whose name was used before. A run of the earlier one is still in memory,
// because it is held.
func TestStartOfASweptName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done once"}
		first := rowOf("w", "k")
		f.x.runs.Hold(first.ID)
		_, err := f.x.Starter.Start(t.Context(), first, nil)
		require.NoError(t, err)
		require.NoError(
			t,
			f.x.Messages.Settle(t.Context(), request.RefTo(first), journal.Deferred{
				Name: "d", Value: abi.MustMarshal("first"),
			}),
		)
		synctest.Wait()
		require.True(t, f.x.InMemory(first.ID))
		n, err := f.store.Sweep(t.Context(), f.commits.fences, journal.Never, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		f.takeNotes()

		second := rowOf("w", "k")
		second.CreatedAt++
		existed, err := f.x.Starter.Start(t.Context(), second, nil)
		require.NoError(t, err)
		require.False(t, existed)
		f.x.runs.Unhold(first.ID)
		synctest.Wait()
		require.Equal(t, "guest start\n", f.takeNotes(), "the second waits for its own deferred")
		err = f.x.Messages.Settle(t.Context(), request.RefTo(first), journal.Deferred{Name: "d", Value: abi.Nil})
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err), "the caller has looked at the first")
		require.NoError(
			t,
			f.x.Messages.Settle(t.Context(), request.RefTo(second), journal.Deferred{
				Name: "d", Value: abi.MustMarshal("second"),
			}),
		)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "guest op 1: second\n")
		entries, _, err := f.store.Entries(t.Context(), second.RunKey(), 0, journal.PageLimit{Entries: 10})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.EqualValues(t, 1, entries[0].Seq, "the second counts on where the first had ended")
		require.EqualValues(t, 1, entries[0].Turn)
	})
}

// TestStartBehindAnUnload brings the row of a start to a run in memory that is not loaded: of an earlier one of the
// same name, and of the same one.
func TestStartBehindAnUnload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done once"}
		first, second := rowOf("w", "k"), rowOf("w", "k")
		r := newRun(f.x.shared, first.ID)
		r.Receive([]notice{started{row: first}})
		r.mail.deferreds.add((&journal.Deferred{Name: "d", Value: abi.MustMarshal("first")}).Message())
		r.unload()
		f.takeNotes()
		r.Receive([]notice{started{row: second}})
		require.Equal(t, "guest start\n", f.takeNotes(), "it was told what the first was told")
		require.Equal(t, second.Run, r.run)

		w := journal.Write{ID: first.ID, Run: second.Run, Start: second}
		_, err := f.commits.Commit(w)
		require.NoError(t, err)
		w.Start, w.Update = nil, &journal.Update{
			State: journal.Paused, WakeAt: journal.Never, Error: abi.Errorf(abi.CodeHostFault, "no"),
		}
		_, err = f.commits.Commit(w)
		require.NoError(t, err)
		r.unload()
		r.Receive([]notice{started{row: second}})
		require.Equal(t, journal.Paused, r.row.State, "the store knows more than the one who started it")
	})
}

// TestStartGivenUpInDoubt has the caller of a start leave before the store can tell whether it is durable. It is, so it
// must run.
func TestStartGivenUpInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		f.commits.next = []string{"lose"}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := f.x.Starter.Start(ctx, rowOf("w", "k"), nil)
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
		existed, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		require.False(t, existed)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
	})
}
