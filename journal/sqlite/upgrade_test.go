package sqlite

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/migrations"
)

// The rows of a store from before sections, held messages and chains mean the same after.
func TestSectionsComeToAStoreInUse(t *testing.T) {
	t.Parallel()
	config := Config{Dir: t.TempDir()}
	caller, callee := laneOf("caller"), laneOf("callee")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(config.Dir, FileName))
	require.NoError(t, err)
	files, err := fs.Sub(migrations.SQLite, "sqlite")
	require.NoError(t, err)
	provider, err := goose.NewProvider(
		goose.DialectSQLite3, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true),
	)
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 4)
	require.NoError(t, err)
	for _, e := range []journal.Execution{caller, callee} {
		_, err = db.ExecContext(t.Context(), `INSERT INTO cruster_executions
				(shard, id, run, namespace, workflow, key, digest, moved_at, state, wake_at, pinned, created_at,
					finished_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'sha256:1', 0, 'running', 0, ?7, 1, 0)`,
			int(e.ID[0]), e.ID[:], e.Run[:], e.Namespace, e.Workflow, e.Key, abi.MustMarshal(&journal.Pinned{}))
		require.NoError(t, err)
	}
	_, err = db.ExecContext(
		t.Context(),
		"INSERT INTO cruster_links (shard, id, step, callee, callee_run) VALUES (?1, ?2, zeroblob(16), ?3, ?4)",
		int(caller.ID[0]), caller.ID[:], callee.ID[:], callee.Run[:],
	)
	require.NoError(t, err)
	for position, repeatable := range []bool{false, true} {
		_, err = db.ExecContext(
			t.Context(),
			`INSERT INTO cruster_inbox (shard, id, position, origin, kind, name, at, repeatable, bytes)
			VALUES (?1, ?2, ?3, randomblob(16), 'signal', 'paid', 1, ?4, 0)`,
			int(callee.ID[0]),
			callee.ID[:],
			position+1,
			repeatable,
		)
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
		ID:       callee.ID,
		Run:      callee.Run,
		Fence:    fences[callee.ID.Shard()],
		Continue: &journal.Continuation{Run: journal.RunID{1}},
	}})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	found, err := store.Callee(t.Context(), journal.Caller{ID: caller.ID, Run: caller.Run})
	require.NoError(t, err)
	require.Equal(t, journal.RunID{1}, found.Run)
	require.Equal(t, callee.Run, found.Chain)
}

// A program that is older than the schema is refused, and changes nothing. The program is today's,
// and the schema has a step that it does not know: a binary that was built before today's schema is
// in no checkout, and binaries older than the check itself could not be refused. The other
// direction, a store that an older binary wrote, is TestAStoreOfAnEarlierVersionGoesOn.
func TestOldProgramIsRefused(t *testing.T) {
	t.Parallel()
	config := Config{Dir: t.TempDir()}
	path := filepath.Join(config.Dir, FileName)
	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(
		t.Context(),
		"CREATE TABLE cruster_later (a); INSERT INTO "+versionTable+" (version_id, is_applied) VALUES (99999, 1)",
	)
	require.NoError(t, err)
	for range 2 {
		_, err = Open(t.Context(), config)
		require.Equal(t, abi.CodeStoreNewer, abi.CodeOf(err), "%v", err)
	}
	_, err = db.ExecContext(
		t.Context(), "DELETE FROM "+versionTable+" WHERE version_id = 99999; DROP TABLE cruster_later",
	)
	require.NoError(t, err)
	store, err = Open(t.Context(), config)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// A log that a killed host has left is there for as long as a store is opened: the handle that migrates does not take
// it away.
func TestMigratingKeepsTheLog(t *testing.T) {
	t.Parallel()
	config := Config{Dir: t.TempDir()}
	running, err := Open(t.Context(), config)
	require.NoError(t, err)
	left := Config{Dir: t.TempDir()}
	for _, name := range []string{FileName, FileName + "-wal"} {
		content, err := os.ReadFile(filepath.Join(config.Dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(left.Dir, name), content, 0o600))
	}
	require.NoError(t, running.Close())
	path := filepath.Join(left.Dir, FileName)
	s := &Store{config: left}
	require.NoError(t, s.openWriter(t.Context(), path))
	steps, err := migrations.Steps(migrations.SQLite)
	require.NoError(t, err)
	require.NoError(t, migrate(t.Context(), path, steps))
	require.NoError(t, checkLog(path), "a crash here is none")
	require.NoError(t, markClosed(s.writer))
	require.NoError(t, s.writer.Close())
	require.NoFileExists(t, path+"-wal")
	require.NoError(t, checkLog(path))
}
