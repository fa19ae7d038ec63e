package execution

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestHeadStartGivesWay has all places taken by executions that wait for memory, while a first turn that was taken
// ahead of its start holds it and waits for a place.
func TestHeadStartGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"], f.scripts["other"] = []string{"done ok"}, []string{"done ok"}
		others, err := f.x.Memory.Acquire(t.Context(), f.x.Memory.Total()-1)
		require.NoError(t, err)
		defer others.Release()
		committer := f.committer.Committer
		f.committer.Committer = &beforeStart{committer, func() error {
			synctest.Wait()
			for n := range maxAtWork {
				row := rowOf("other", strconv.Itoa(n))
				_, err := committer.Commit(journal.Write{ID: row.ID, Run: row.Run, Start: row})
				require.NoError(t, err)
				f.x.EnsureInMemory(row.ID)
			}
			synctest.Wait()
			return nil
		}}
		_, err = f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(
			t, f.takeNotes(), "watchers are told: completed ok", "%d wait for memory", f.x.Memory.Waiting(),
		)
	})
}

// TestHeadStartInVain has a first turn wait for a slot whose start has failed by then. It does not keep its memory
// until there is one.
func TestHeadStartInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		f.takeSlots(true)
		synctest.Wait()
		f.committer.Committer = &beforeStart{f.committer.Committer, func() error {
			synctest.Wait()
			return errors.New("the disk is full")
		}}
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.Error(t, err)
		synctest.Wait()
		used := f.x.Memory.Used()
		f.takeSlots(false)
		require.Zero(t, used, "it waits for a slot with memory in its hands, for nothing")
	})
}
