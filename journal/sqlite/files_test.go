package sqlite_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// takeAway are the ways in which an operator takes the files away from an open store.
var takeAway = map[string]func(t *testing.T, dir string){
	"database deleted": func(t *testing.T, dir string) {
		require.NoError(t, os.Remove(filepath.Join(dir, sqlite.FileName)))
	},
	"log deleted": func(t *testing.T, dir string) {
		require.NoError(t, os.Remove(filepath.Join(dir, sqlite.FileName+"-wal")))
	},
	"database renamed": func(t *testing.T, dir string) {
		require.NoError(t, os.Rename(filepath.Join(dir, sqlite.FileName), filepath.Join(dir, "old.db")))
	},
	"database replaced": func(t *testing.T, dir string) { replaceFile(t, filepath.Join(dir, sqlite.FileName)) },
	"log replaced":      func(t *testing.T, dir string) { replaceFile(t, filepath.Join(dir, sqlite.FileName+"-wal")) },
	"folder deleted":    func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) },
	"folder renamed":    func(t *testing.T, dir string) { require.NoError(t, os.Rename(dir, dir+".old")) },
}

// replaceFile puts a copy in the place of a file, as restoring a backup does.
func replaceFile(t *testing.T, path string) {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".new", content, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func requireGone(t *testing.T, err error, what string) {
	t.Helper()
	require.ErrorIs(t, err, journal.ErrStoreGone, what)
	require.Equal(t, abi.CodeStoreGone, abi.CodeOf(err), what)
}

func TestFilesTakenAway(t *testing.T) {
	t.Parallel()
	for name, take := range takeAway {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newGuestBundle(t, sqlite.Config{Dir: filepath.Join(t.TempDir(), "data")})
			w := b.start(t, "k")
			w.Entries = []journal.Entry{{Seq: 1, Kind: journal.Delivery}}
			open := b.begin(t)
			_, err := open.Exec(b.ctx, "UPDATE accounts SET balance = 1", nil)
			require.NoError(t, err)
			take(t, b.dir)

			requireGone(t, open.Commit(b.ctx, w), "a transaction that had begun")
			_, err = b.store.Commit(b.ctx, []journal.Write{w})
			requireGone(t, err, "a commit")
			_, err = b.store.BeginGuest(b.ctx, "mine")
			requireGone(t, err, "a transaction of a module")
			requireGone(t, b.deploy("mine", "CREATE TABLE more (id)"), "a deployment")
			_, err = b.store.ClaimShards(b.ctx, "other")
			requireGone(t, err, "a claim")
			_, err = b.store.Sweep(b.ctx, b.fences, journal.Never, 10)
			requireGone(t, err, "a sweep")
			requireGone(t, b.store.Ping(b.ctx), "readiness")
			_, err = b.store.Load(b.ctx, w.ID)
			requireGone(t, err, "what is read is not there for others")
		})
	}
}

// Writes acknowledged while the files are taken away are in the files: after a restart on the files
// of that moment none is missing.
func TestFilesTakenAwayUnderLoad(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{Dir: filepath.Join(t.TempDir(), "data")})
	var acknowledged atomic.Uint64
	w := b.start(t, "k")
	enough := make(chan struct{})
	var group errgroup.Group
	group.Go(func() error {
		for seq := uint64(1); ; seq++ {
			w.Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery}}
			if _, err := b.store.Commit(b.ctx, []journal.Write{w}); err != nil {
				return err
			}
			acknowledged.Store(seq)
			if seq == 20 {
				close(enough)
			}
		}
	})
	<-enough
	moved := b.dir + ".moved"
	require.NoError(t, os.Rename(b.dir, moved))
	requireGone(t, group.Wait(), "the next commit")
	require.NoError(t, b.store.Close())

	restored := open(t, sqlite.Config{Dir: moved})
	entries, _, err := restored.Entries(t.Context(), journal.KeyOf(w.ID, w.Run), 0, journal.PageLimit{
		Entries: 1_000_000, Bytes: 1 << 30,
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, uint64(len(entries)), acknowledged.Load())
}

// The store does not come back by itself: the file at the path may be another one.
func TestFilesPutBack(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{Dir: filepath.Join(t.TempDir(), "data")})
	require.NoError(t, os.Rename(b.dir, b.dir+".moved"))
	requireGone(t, b.store.Ping(b.ctx), "moved away")
	require.NoError(t, os.Rename(b.dir+".moved", b.dir))
	requireGone(t, b.store.Ping(b.ctx), "moved back")
	require.NoError(t, b.store.Close())
	again := open(t, sqlite.Config{Dir: b.dir})
	require.NoError(t, again.Ping(t.Context()))
}

func BenchmarkCheckFiles(b *testing.B) {
	store := open(b, sqlite.Config{Dir: b.TempDir()})
	for b.Loop() {
		require.NoError(b, store.CheckFiles())
	}
}
