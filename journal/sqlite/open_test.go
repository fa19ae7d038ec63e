package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/leaktest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// childDir, if set, makes the test binary a process that fills the store in that folder until it is killed.
const childDir = "CRUSTER_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := fillUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(leaktest.Main(m))
}

func TestSecondOpenFailsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, sqlite.Config{Dir: dir})
	_, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	require.ErrorIs(t, err, journal.ErrInUse)
	require.Equal(t, abi.CodeStoreInUse, abi.CodeOf(err))
	require.NoError(t, first.Ping(t.Context()), "the first is not disturbed")
	require.NoError(t, first.Close())
	open(t, sqlite.Config{Dir: dir})
}

func TestOpenOddFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "quest?mode=ro", "per%20cent", "hash#x", "ünïcode", "deep/er"} {
		dir := filepath.Join(t.TempDir(), name)
		store := open(t, sqlite.Config{Dir: dir})
		_, err := store.ClaimShards(t.Context(), "test")
		require.NoError(t, err, name)
		require.FileExists(t, filepath.Join(dir, sqlite.FileName))
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := sqlite.Open(t.Context(), sqlite.Config{})
	require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err))

	dir := t.TempDir()
	path := filepath.Join(dir, sqlite.FileName)
	require.NoError(t, os.WriteFile(path, []byte("this is not a database, but long enough to be taken for one"), 0o600))
	_, err = sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	require.Error(t, err)
	require.NoError(t, os.Remove(path))
	open(t, sqlite.Config{Dir: dir}) // the lock was given back
}

func fillUntilKilled(dir string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	fences, err := store.ClaimShards(ctx, "child")
	if err != nil {
		return err
	}
	id := journal.IDOf("default", "w/W", "k")
	w := journal.Write{
		ID:    id,
		Run:   journal.RunID(id),
		Fence: fences[id.Shard()],
		Start: &journal.Execution{ID: id, Run: journal.RunID(id), State: journal.Running},
	}
	for seq := uint64(1); ; seq++ {
		w.Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery, Value: []byte(strconv.FormatUint(seq, 10))}}
		results, err := store.Commit(ctx, []journal.Write{w})
		if err != nil {
			return err
		}
		if results[0].Err != nil {
			return results[0].Err
		}
		w.Start = nil
		fmt.Println(seq)
	}
}

// TestKilledProcess kills a process in the middle of its commits: the lock is free at once, and everything it was told
// to be durable is there.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	lines, acknowledged := bufio.NewScanner(out), 0
	for acknowledged < 50 && lines.Scan() {
		acknowledged, err = strconv.Atoi(lines.Text())
		require.NoError(t, err)
	}
	require.Equal(t, 50, acknowledged)
	_, err = sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	require.ErrorIs(t, err, journal.ErrInUse)

	require.NoError(t, child.Process.Kill())
	for lines.Scan() {
		acknowledged, err = strconv.Atoi(lines.Text())
		require.NoError(t, err)
	}
	_ = child.Wait()
	store := open(t, sqlite.Config{Dir: dir})
	row, err := store.Load(t.Context(), journal.IDOf("default", "w/W", "k"))
	require.NoError(t, err)
	entries, _, err := store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{
		Entries: 1_000_000, Bytes: 1 << 30,
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(entries), acknowledged)
	require.LessOrEqual(t, len(entries), acknowledged+1, "at most the one that was under way")
	for i, e := range entries {
		require.EqualValues(t, i+1, e.Seq)
	}
}
