package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// An activity that runs SQL has its snapshot from before its run was replaced or ended. Neither its entry nor
// the changes of its statements take effect: in the run that took the place of its own, its number is free.
func TestGuestOfARunThatIsGone(t *testing.T) {
	t.Parallel()
	next := journal.RunID{7}
	end := func(t *testing.T, b *testBundle) {
		w := b.write()
		w.Update = &journal.Update{State: journal.Interrupted, WakeAt: journal.Never, FinishedAt: 1}
		require.Equal(t, journal.Result{}, b.commit(t, w))
	}
	for name, replace := range map[string]func(t *testing.T, b *testBundle){
		"terminated": end,
		"continued": func(t *testing.T, b *testBundle) {
			w := b.write()
			w.Continue = &journal.Continuation{Run: next, Digest: "sha256:01"}
			require.Equal(t, journal.Result{}, b.commit(t, w))
		},
		"started over": func(t *testing.T, b *testBundle) {
			end(t, b)
			w := b.write()
			w.Replace, w.Run = w.Run, next
			w.Start = &journal.Execution{
				ID: b.id, Run: next, Namespace: "default", Workflow: "bank/Transfer", Key: "k", State: journal.Running,
			}
			require.Equal(t, journal.Result{}, b.commit(t, w))
		},
		"deleted": func(t *testing.T, b *testBundle) {
			end(t, b)
			require.NoError(t, b.store.Delete(t.Context(), b.fences[b.id.Shard()], b.id, b.run().Run, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, postgres.Config{})
			b.deploy(t, "default", "CREATE TABLE effects (n int)")
			stale := b.guest(t)
			_, err := stale.Exec(t.Context(), "INSERT INTO effects VALUES (1)", nil)
			require.NoError(t, err)
			replace(t, b)
			require.ErrorIs(t, stale.Commit(t.Context(), b.entry(1)), journal.ErrConflict)

			again := b.guest(t)
			_, err = again.Exec(t.Context(), "INSERT INTO effects VALUES (2)", nil)
			require.NoError(t, err)
			require.ErrorIs(
				t, again.Commit(t.Context(), b.entry(1)), journal.ErrNotFound, "the next attempt learns of it",
			)
			require.Zero(t, b.entries(t))
			require.Zero(t, b.effects(t))
			entries, _, err := b.store.Entries(t.Context(), journal.KeyOf(b.id, next), 0, journal.PageLimit{})
			require.NoError(t, err)
			require.Empty(t, entries)
			if row, err := b.store.Load(t.Context(), b.id); err == nil && row.Run == next {
				w := b.entry(1)
				w.Run, w.Chain = next, row.Chain
				require.Equal(t, journal.Result{}, b.commit(t, w))
			}
		})
	}
}

// Other changes of its run do not disturb an activity.
func TestGuestOfARunThatGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", "CREATE TABLE effects (n int)")
	tx := b.guest(t)
	_, err := tx.Exec(t.Context(), "INSERT INTO effects VALUES (1)", nil)
	require.NoError(t, err)
	w := b.entry(1)
	w.Update = &journal.Update{State: journal.Running, WakeAt: 77, Section: journal.StepID{1}}
	w.Receive = (&journal.Deferred{Name: "d", Value: abi.Nil}).Message()
	require.NoError(t, b.commit(t, w).Err)
	require.NoError(t, tx.Commit(t.Context(), b.entry(2)))
	require.Equal(t, 2, b.entries(t))
	require.Equal(t, 1, b.effects(t))
}

func (b *testBundle) guest(t *testing.T) journal.GuestTx {
	t.Helper()
	tx, err := b.store.BeginGuest(t.Context(), "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) })
	return tx
}

func (b *testBundle) effects(t *testing.T) int {
	t.Helper()
	tx := b.guest(t)
	_, rows, err := tx.Query(t.Context(), "SELECT count(*) FROM effects", nil)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	return int(rows[0][0].(int64))
}
