package sqlite

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cruster/cruster/journal"
)

// send puts so many messages of so many bytes into the inbox of an entity.
func (s *Store) send(t testing.TB, fences []journal.Fence, to journal.ID, n, bytes int) {
	w := journal.Write{ID: to, Fence: fences[to.Shard()]}
	for i := range n {
		m := journal.Message{
			Envelope: journal.Envelope{Kind: journal.CallMessage, Bytes: bytes}, Value: make([]byte, bytes),
		}
		binary.BigEndian.PutUint32(m.Origin[:], uint32(i+1))
		w.Send = append(w.Send, journal.Sent{To: to, Message: m})
	}
	results, err := s.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
}

// Receivers are found by leaping from one to the next, however many messages they have.
func TestReceiversLeap(t *testing.T) {
	t.Parallel()
	steps := func(messages int) int {
		store, err := Open(t.Context(), Config{Dir: t.TempDir(), MaxReaders: 1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		fences, err := store.ClaimShards(t.Context(), "test")
		require.NoError(t, err)
		for i := range 5 {
			store.send(t, fences, journal.EntityID("default", "bank/Account", fmt.Sprint(i)), messages, 1)
		}
		ids, err := store.Receivers(t.Context(), journal.ID{}, 100)
		require.NoError(t, err)
		require.Len(t, ids, 5)
		n := 0
		require.NoError(t, store.read(t.Context(), func(conn *sqlite.Conn) error {
			n = stepsOf(t, conn, selectNextReceiver)
			return nil
		}))
		return n
	}
	require.Equal(t, steps(1), steps(1000))
}

// The last position is found without a look at all messages, whichever of them were taken, also in a copy of the file.
func TestLastPosition(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := Open(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	requireLastPosition(t, store)
	const receivers, messages = 20, 50
	to := func(i int) journal.ID { return journal.EntityID("default", "bank/Account", fmt.Sprint(i)) }
	for i := range receivers {
		store.send(t, fences, to(i), messages, 1)
	}
	requireLastPosition(t, store)
	for i := range receivers / 2 {
		store.takeAll(t, fences, to(receivers-1-i))
	}
	requireLastPosition(t, store)
	store.send(t, fences, to(receivers), 1, 1)
	store.takeAll(t, fences, to(0))
	requireLastPosition(t, store)

	copied := Config{Dir: t.TempDir()}
	conn, err := sqlite.OpenConn(filepath.Join(dir, FileName), sqlite.OpenReadWrite)
	require.NoError(t, err)
	into := sqlitex.ExecOptions{Args: []any{filepath.Join(copied.Dir, FileName)}}
	require.NoError(t, sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &into))
	require.NoError(t, conn.Close())
	again, err := Open(t.Context(), copied)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, again.Close()) })
	requireLastPosition(t, again)
}

// takeAll takes all messages of an entity.
func (s *Store) takeAll(t *testing.T, fences []journal.Fence, id journal.ID) {
	envelopes, err := s.Inbox(t.Context(), journal.Receiver{ID: id}, 0)
	require.NoError(t, err)
	w := journal.Write{ID: id, Fence: fences[id.Shard()]}
	for _, e := range envelopes {
		w.Take = append(w.Take, e.Position)
	}
	results, err := s.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
}

// requireLastPosition compares the last position with those of all messages.
func requireLastPosition(t *testing.T, store *Store) {
	t.Helper()
	var want uint64
	all := "SELECT coalesce(max(position), 0) FROM cruster_inbox -- all of them"
	require.NoError(t, run(store.writer, all, nil, func(row *sqlite.Stmt) error {
		want = uint64(row.ColumnInt64(0))
		return nil
	}))
	stepsOf(t, store.writer, selectLastPosition)
	last, err := lastPosition(store.writer)
	require.NoError(t, err)
	require.Equal(t, want, last)
	require.Less(t, stepsOf(t, store.writer, selectLastPosition), 100)
}

// A list of messages reads none of their values: it does not notice that they are damaged.
func TestInboxReadsNoValues(t *testing.T) {
	t.Parallel()
	config := Config{Dir: t.TempDir()}
	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	to := journal.EntityID("default", "bank/Account", "ada")
	const messages, bytes = 5, 1 << 20
	store.send(t, fences, to, messages, bytes)
	require.NoError(t, store.Close())

	// A page of a value names the next one, and holds nothing else but zeros here.
	const page = 4096
	path := filepath.Join(config.Dir, FileName)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := 0
	for at := 0; at < len(file); at += page {
		next, value := file[at:at+4], file[at+4:at+page]
		if binary.BigEndian.Uint32(next) > 0 && bytesAreZero(value) {
			binary.BigEndian.PutUint32(next, math.MaxUint32)
			damaged++
		}
	}
	require.Greater(t, damaged, messages*bytes/page*9/10)
	require.NoError(t, os.WriteFile(path, file, 0o600))

	store, err = Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	envelopes, err := store.Inbox(t.Context(), journal.Receiver{ID: to}, 0)
	require.NoError(t, err)
	require.Len(t, envelopes, messages)
	require.Equal(t, bytes, envelopes[0].Bytes)
	_, err = store.Receivers(t.Context(), journal.ID{}, 10)
	require.NoError(t, err)
	_, _, err = store.Messages(t.Context(), journal.Receiver{ID: to}, 0, journal.PageLimit{})
	require.Error(t, err)
}

func bytesAreZero(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// Positions go on behind the largest that is stored, and none is written for them.
func TestPositionsAreCountedInMemory(t *testing.T) {
	t.Parallel()
	config := Config{Dir: t.TempDir()}
	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	ada, bob := journal.EntityID("default", "bank/Account", "ada"), journal.EntityID("default", "bank/Account", "bob")
	store.send(t, fences, ada, 5, 1)
	store.send(t, fences, bob, 1, 1)
	require.EqualValues(t, 6, store.mail.position)
	require.NoError(t, store.Close())
	store, err = Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.EqualValues(t, 6, store.mail.position)
}

// Retention does not walk over receipts that it has found must be kept.
func TestSweepReceiptsDoesNotRescan(t *testing.T) {
	t.Parallel()
	steps := func(kept int) (first, second int) {
		store := openInside(t)
		fences, err := store.ClaimShards(t.Context(), "test")
		require.NoError(t, err)
		sender := store.children(t, fences, 0)
		entity := journal.EntityID("default", "bank/Account", "ada")
		w := journal.Write{ID: entity, Fence: fences[entity.Shard()]}
		for i := range kept {
			r := journal.Receipt{From: journal.Caller{ID: sender, Run: journal.RunID(sender)}, At: int64(i)}
			binary.BigEndian.PutUint32(r.Origin[:], uint32(i+1))
			w.Receipts = append(w.Receipts, r)
		}
		results, err := store.Commit(t.Context(), []journal.Write{w})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
		for _, sum := range []*int{&first, &second} {
			before := store.Commits()
			n, err := store.SweepReceipts(t.Context(), fences, journal.Never, 500)
			require.NoError(t, err)
			require.Zero(t, n)
			for _, query := range []string{selectOverHolder, selectHeldReceipts, selectOldReceipts, selectLiveRun} {
				*sum += stepsOf(t, store.writer, query)
			}
			if sum == &first {
				require.GreaterOrEqual(
					t, int(store.Commits()-before), kept/journal.SweepEntries, "in small transactions",
				)
			}
		}
		return first, second
	}
	_, none := steps(0)
	first, second := steps(3000)
	require.Greater(t, first, 3000, "each is looked at once")
	require.Equal(t, none, second, "and not again")
}

// An inbox that holds many messages is counted once, not for each received one. The store's memory
// equals the rows, whatever failed in between.
func TestTallies(t *testing.T) {
	t.Parallel()
	store := openInside(t)
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	to := journal.EntityID("default", "bank/Account", "ada")
	number := uint32(1_000_000)
	receive := func() journal.Write {
		number++
		m := &journal.Message{Envelope: journal.Envelope{Kind: journal.CallMessage, Bytes: 3}, Value: []byte("abc")}
		binary.BigEndian.PutUint32(m.Origin[:], number)
		return journal.Write{ID: to, Fence: fences[to.Shard()], Receive: m}
	}
	taken := journal.Write{ID: to, Fence: fences[to.Shard()]}
	commit := func(writes ...journal.Write) {
		t.Helper()
		results, err := store.Commit(t.Context(), writes)
		require.NoError(t, err)
		if n := len(results) - 1; results[n].Err == nil {
			taken.Take = []uint64{results[n].Position}
		}
		kept, known := store.mail.tallies[journal.Receiver{ID: to}]
		var there tally
		require.NoError(t, store.read(t.Context(), func(conn *sqlite.Conn) (err error) {
			there, err = count(conn, journal.Receiver{ID: to})
			return err
		}))
		require.True(t, !known || kept == there, "%+v is kept, and %+v is there", kept, there)
	}
	commit(receive())
	require.Empty(t, store.mail.tallies, "few are counted each time")
	store.send(t, fences, to, 3000, 2)
	commit(receive())
	first := stepsOf(t, store.writer, selectTally)
	commit(receive())
	commit(taken)
	commit(receive())
	require.Greater(t, first, 3000)
	require.Zero(t, stepsOf(t, store.writer, selectTally))

	// Of a batch that fails half-way, and is repeated with savepoints, nothing is kept.
	missing := journal.Write{ID: to, Fence: fences[to.Shard()], Take: []uint64{taken.Take[0], 1 << 40}}
	commit(receive(), missing)
	require.NotZero(t, stepsOf(t, store.writer, selectTally))
	commit(receive(), missing, receive())
	commit(taken, receive())
	stale := receive()
	stale.Fence.Epoch--
	commit(stale)
	commit(receive())

	// Nor of a transaction that is rolled back at its end.
	cancelled := receive()
	require.ErrorIs(t, store.write(t.Context(), func(conn *sqlite.Conn) error {
		b := newBatch(conn, &store.mail)
		_, err := b.apply(&cancelled)
		require.NoError(t, err)
		return errNoMessage
	}), errNoMessage)
	commit(receive())

	// An inbox beyond mostCounted, as it may be since before there was a bound, is counted again when
	// enough was taken.
	require.NoError(t, store.write(t.Context(), func(conn *sqlite.Conn) error {
		b := newBatch(conn, &store.mail)
		for range mostCounted + 500 {
			_, err := b.put(journal.Receiver{ID: to}, receive().Receive)
			require.NoError(t, err)
		}
		return nil
	}))
	store.mail.forget()
	results, err := store.Commit(t.Context(), []journal.Write{receive()})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, journal.ErrInboxFull)
	envelopes, err := store.Inbox(t.Context(), journal.Receiver{ID: to}, 0)
	require.NoError(t, err)
	w := journal.Write{ID: to, Fence: fences[to.Shard()]}
	for _, e := range envelopes[:len(envelopes)-journal.MaxInbox+1] {
		w.Take = append(w.Take, e.Position)
	}
	results, err = store.Commit(t.Context(), []journal.Write{w, receive(), receive()})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.NotZero(t, results[1].Position)
	require.ErrorIs(t, results[2].Err, journal.ErrInboxFull)
}
