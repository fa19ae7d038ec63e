package sqlite_test

import (
	"compress/gzip"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	raw "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/sqlitetest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
	"github.com/cruster/cruster/journal/storetest"
)

func open(t testing.TB, config sqlite.Config) *sqlite.Store {
	store, err := sqlite.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func harness(t *testing.T) storetest.Harness {
	dir := t.TempDir()
	return storetest.Harness{
		Durable: true,
		Guest:   true,
		// The limit is for modules; a slow machine must not run into it here.
		Open: func(t testing.TB) journal.Store {
			return open(t, sqlite.Config{Dir: dir, GuestTxLimit: time.Hour})
		},
		SaveShards: func(t testing.TB) func(testing.TB) { return saveShards(t, dir) },
	}
}

// saveShards copies the table of shards, and puts the copy back.
func saveShards(t testing.TB, dir string) (restore func(testing.TB)) {
	run := func(t testing.TB, script string) {
		t.Helper()
		conn, err := raw.OpenConn(filepath.Join(dir, sqlite.FileName), raw.OpenReadWrite)
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, sqlitex.ExecuteScript(conn, script, nil))
	}
	run(t, "CREATE TABLE cruster_saved AS SELECT * FROM cruster_shards")
	return func(t testing.TB) {
		run(t, "DELETE FROM cruster_shards; INSERT INTO cruster_shards SELECT * FROM cruster_saved")
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

func TestDifferential(t *testing.T) {
	t.Parallel()
	fresh := sqlitetest.Folders(t)
	storetest.RunDifferential(t, func(t *testing.T) storetest.Harness {
		// It reads one thing at a time; each handle that reads prepares all its statements.
		config := sqlite.Config{Dir: fresh(t), GuestTxLimit: time.Hour, MaxReaders: 1}
		return storetest.Harness{Guest: true, Open: func(t testing.TB) journal.Store { return open(t, config) }}
	})
}

func TestDifferentialCallsEveryMethod(t *testing.T) {
	t.Parallel()
	storetest.RunDifferentialCalls(t, harness)
}

// A store of a version that keyed rows by execution is brought up to date, and nothing of it is lost.
func TestStoreFromBeforeRuns(t *testing.T) {
	t.Parallel()
	storetest.RunBefore(t, open(t, sqlite.Config{Dir: restoreBefore(t)}))
}

// A callee that such a version had given up is asked to stop.
func TestGiveUpsBecomeRequests(t *testing.T) {
	t.Parallel()
	dir := restoreBefore(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.FileName))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(),
		"UPDATE cruster_executions SET state = 'running', finished_at = 0, held_by = NULL, pinned = ?1 WHERE key = 'child'",
		storetest.PinnedToStop(),
	)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE cruster_given_up SET step = zeroblob(16)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	storetest.RunGivenUpBefore(t, open(t, sqlite.Config{Dir: dir}))
}

// Its settlement is in an inbox.
func TestDeferredsBecomeMessages(t *testing.T) {
	t.Parallel()
	dir := restoreBefore(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.FileName))
	require.NoError(t, err)
	for _, d := range storetest.SettledBefore() {
		var failure []byte
		if d.Error != nil {
			failure = abi.MustMarshal(d.Error)
		}
		_, err := db.ExecContext(t.Context(),
			`INSERT INTO cruster_deferreds (shard, id, name, value, error, at, origin)
			SELECT shard, id, ?1, ?2, ?3, ?4, ?5 FROM cruster_executions WHERE key = 'a'`,
			d.Name,
			d.Value,
			failure,
			d.At,
			d.Origin[:],
		)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	storetest.RunSettledBefore(t, open(t, sqlite.Config{Dir: dir}))
}

// restoreBefore makes a folder with a store as a version before left it.
func restoreBefore(t *testing.T) (dir string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", "before", "runs.db.gz"))
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	dir = t.TempDir()
	file, err := os.Create(filepath.Join(dir, sqlite.FileName))
	require.NoError(t, err)
	_, err = io.Copy(file, unpacked)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return dir
}
