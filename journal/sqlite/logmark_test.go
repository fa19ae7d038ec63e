package sqlite_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// killed is a data folder whose host was killed after so many commits or a few more.
func killed(t *testing.T, commits int) (dir string, acknowledged int) {
	t.Helper()
	dir = t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		acknowledged, err = strconv.Atoi(lines.Text())
		require.NoError(t, err)
		if acknowledged == commits {
			require.NoError(t, child.Process.Kill())
		}
	}
	_ = child.Wait()
	require.GreaterOrEqual(t, acknowledged, commits)
	return dir, acknowledged
}

// entriesOf counts the entries of the killed host.
func entriesOf(t *testing.T, store *sqlite.Store) int {
	t.Helper()
	id, all := journal.IDOf("default", "w/W", "k"), journal.PageLimit{Entries: 1_000_000, Bytes: 1 << 30}
	entries, _, err := store.Entries(t.Context(), journal.KeyOf(id, journal.RunID(id)), 0, all)
	require.NoError(t, err)
	return len(entries)
}

// refusesLog opens a folder that is refused, twice: the first time changes nothing.
func refusesLog(t *testing.T, dir string) {
	t.Helper()
	for range 2 {
		_, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		require.Equal(t, abi.CodeStoreLog, abi.CodeOf(err), "%v", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, 0o600))
}

// A log that is deleted, or emptied, after its host was killed is noticed at the next start, until
// the loss is accepted.
func TestLostLogIsNoticed(t *testing.T) {
	t.Parallel()
	dir, acknowledged := killed(t, 50)
	path := filepath.Join(dir, sqlite.FileName)
	log, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path+"-wal", 0))
	refusesLog(t, dir)
	require.NoError(t, os.Remove(path+"-wal"))
	refusesLog(t, dir)

	// Put back, it is all there; a start that was refused has changed nothing.
	require.NoError(t, os.WriteFile(path+"-wal", log, 0o600))
	again := t.TempDir()
	copyFile(t, path, filepath.Join(again, sqlite.FileName))
	copyFile(t, path+"-wal", filepath.Join(again, sqlite.FileName+"-wal"))
	store := open(t, sqlite.Config{Dir: again})
	require.GreaterOrEqual(t, entriesOf(t, store), acknowledged)

	require.NoError(t, os.Remove(path+"-wal"))
	store, err = sqlite.Open(t.Context(), sqlite.Config{Dir: dir, AcceptLostLog: true})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, open(t, sqlite.Config{Dir: dir}).Ping(t.Context()), "once is enough")
}

func TestLostDatabaseIsNoticed(t *testing.T) {
	t.Parallel()
	dir, _ := killed(t, 5)
	require.NoError(t, os.Remove(filepath.Join(dir, sqlite.FileName)))
	refusesLog(t, dir)
	require.FileExists(t, filepath.Join(dir, sqlite.FileName+"-wal"))
}

// A store that was killed again and again, at any step of its start, needs no one's help: its files are there.
func TestKilledStoresOpen(t *testing.T) {
	t.Parallel()
	dir, acknowledged := killed(t, 20)
	path := filepath.Join(dir, sqlite.FileName)
	for range 3 {
		// A process that is killed leaves its files as they are at that moment.
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		require.NoError(t, err)
		left := t.TempDir()
		copyFile(t, path, filepath.Join(left, sqlite.FileName))
		copyFile(t, path+"-wal", filepath.Join(left, sqlite.FileName+"-wal"))
		require.NoError(t, store.Close())
		require.NoFileExists(t, path+"-wal")
		dir, path = left, filepath.Join(left, sqlite.FileName)
	}
	require.GreaterOrEqual(t, entriesOf(t, open(t, sqlite.Config{Dir: dir})), acknowledged)
}

// A copy of the database alone that is made while a host runs is noticed, also after the schema was
// changed and the log was copied back; backups that SQLite makes are complete.
func TestCopiesOfARunningStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, sqlite.FileName)
	store := open(t, sqlite.Config{Dir: dir})
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	conn, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	for n := range 3 {
		d := journal.Deployment{Namespace: "default", Name: "bank", Digest: "sha256:01"}
		_, err := store.Deploy(t.Context(), fences[d.Shard()], journal.Module{Digest: d.Digest}, d, []abi.Migration{
			{Version: int64(n + 1), Name: "tables", SQL: "CREATE TABLE t" + strconv.Itoa(n) + " (a INTEGER)"},
		})
		require.NoError(t, err)
		copied := t.TempDir()
		copyFile(t, path, filepath.Join(copied, sqlite.FileName))
		refusesLog(t, copied)

		vacuumed, backup := t.TempDir(), filepath.Join(dir, "backup")
		into := sqlitex.ExecOptions{Args: []any{filepath.Join(vacuumed, sqlite.FileName)}}
		require.NoError(t, sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &into))
		require.NoError(t, open(t, sqlite.Config{Dir: vacuumed}).Ping(t.Context()))
		backUp(t, conn, backup) // over the one before
		restored := t.TempDir()
		copyFile(t, backup, filepath.Join(restored, sqlite.FileName))
		require.NoError(t, open(t, sqlite.Config{Dir: restored}).Ping(t.Context()))
		require.NoError(t, sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(FULL)", nil))
	}
}

// backUp works as .backup of the shell does.
func backUp(t *testing.T, from *zombiezen.Conn, path string) {
	t.Helper()
	to, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite, zombiezen.OpenCreate)
	require.NoError(t, err)
	defer func() { require.NoError(t, to.Close()) }()
	b, err := zombiezen.NewBackup(to, "main", from, "main")
	require.NoError(t, err)
	_, err = b.Step(-1)
	require.NoError(t, err)
	require.NoError(t, b.Close())
}

// A store that was closed has no log, and needs none.
func TestClosedStoreNeedsNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 3 {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		require.NoError(t, err)
		require.NoError(t, store.Close())
		require.NoFileExists(t, filepath.Join(dir, sqlite.FileName+"-wal"))
		copied := t.TempDir()
		copyFile(t, filepath.Join(dir, sqlite.FileName), filepath.Join(copied, sqlite.FileName))
		require.NoError(t, open(t, sqlite.Config{Dir: copied}).Ping(t.Context()))
	}
}
