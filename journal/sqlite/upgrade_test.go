package sqlite

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/migrations"
)

// What a store held before there were sections, held messages and chains means the same after.
func TestSectionsComeToAStoreInUse(t *testing.T) {
	t.Parallel()
	config := Config{Dir: t.TempDir()}
	caller, callee := laneOf("caller"), laneOf("callee")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(config.Dir, FileName))
	require.NoError(t, err)
	files, err := fs.Sub(migrations.SQLite, "sqlite")
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 4)
	require.NoError(t, err)
	for _, e := range []journal.Execution{caller, callee} {
		_, err = db.ExecContext(t.Context(), `INSERT INTO cruster_executions
				(shard, id, run, namespace, workflow, key, digest, moved_at, state, wake_at, pinned, created_at, finished_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'sha256:1', 0, 'running', 0, ?7, 1, 0)`,
			int(e.ID[0]), e.ID[:], e.Run[:], e.Namespace, e.Workflow, e.Key, abi.MustMarshal(&journal.Pinned{}))
		require.NoError(t, err)
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO cruster_links (shard, id, step, callee, callee_run) VALUES (?1, ?2, zeroblob(16), ?3, ?4)",
		int(caller.ID[0]), caller.ID[:], callee.ID[:], callee.Run[:])
	require.NoError(t, err)
	for position, repeatable := range []bool{false, true} {
		_, err = db.ExecContext(t.Context(), `INSERT INTO cruster_inbox (shard, id, position, origin, kind, name, at, repeatable, bytes)
			VALUES (?1, ?2, ?3, randomblob(16), 'signal', 'paid', 1, ?4, 0)`, int(callee.ID[0]), callee.ID[:], position+1, repeatable)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())

	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	envelopes, err := store.Inbox(t.Context(), journal.Receiver{ID: callee.ID, Chain: callee.Run}, 0)
	require.NoError(t, err)
	require.Len(t, envelopes, 2)
	for i, e := range envelopes {
		require.Equal(t, i == 1, e.Repeatable)
		require.False(t, e.Held)
	}
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	results, err := store.Commit(t.Context(), []journal.Write{{
		ID: callee.ID, Run: callee.Run, Fence: fences[callee.ID.Shard()], Continue: &journal.Continuation{Run: journal.RunID{1}},
	}})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	found, err := store.Callee(t.Context(), journal.Caller{ID: caller.ID, Run: caller.Run})
	require.NoError(t, err)
	require.Equal(t, journal.RunID{1}, found.Run)
	require.Equal(t, callee.Run, found.Chain)
}
