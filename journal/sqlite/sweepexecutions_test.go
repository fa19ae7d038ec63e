package sqlite

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// children starts so many executions that have ended, each started by the parent, which has not.
func (s *Store) children(t testing.TB, fences []journal.Fence, n int) (parent journal.ID) {
	newExecution := func(key string) journal.Execution {
		id := journal.IDOf("default", "orders/Process", key)
		return journal.Execution{
			ID:        id,
			Run:       journal.RunID(id),
			Namespace: "default",
			Workflow:  "orders/Process",
			Key:       key,
			State:     journal.Running,
			CreatedAt: 1,
		}
	}
	p := newExecution("parent")
	executions := []journal.Execution{p}
	for i := range n {
		e := newExecution(fmt.Sprint(i))
		e.Parent = journal.Caller{ID: p.ID, Run: p.Run, Step: journal.StepID{byte(i), byte(i >> 8)}}
		e.State, e.WakeAt, e.FinishedAt = journal.Completed, journal.Never, int64(i+1)
		executions = append(executions, e)
	}
	writes := make([]journal.Write, len(executions))
	for i := range executions {
		e := &executions[i]
		writes[i] = journal.Write{ID: e.ID, Run: e.Run, Fence: fences[e.ID.Shard()], Start: e}
	}
	results, err := s.Commit(t.Context(), writes)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
	return p.ID
}

// A sweep does not walk over the rows that earlier ones have found and must keep: with thousands of them it takes as
// many steps as with none.
func TestSweepDoesNotRescan(t *testing.T) {
	t.Parallel()
	steps := func(kept int) (first, second int) {
		store := openInside(t)
		fences, err := store.ClaimShards(t.Context(), "test")
		require.NoError(t, err)
		store.children(t, fences, kept)
		for _, sum := range []*int{&first, &second} {
			n, err := store.Sweep(t.Context(), fences, journal.Never, 500)
			require.NoError(t, err)
			require.Zero(t, n)
			for _, query := range []string{selectOverHolder, selectHeld, selectExpired} {
				*sum += stepsOf(t, store.writer, query)
			}
		}
		return first, second
	}
	_, none := steps(0)
	first, second := steps(3000)
	require.Greater(t, first, 3000, "each is looked at once")
	require.Equal(t, none, second, "and not again")
}

// The transactions of a sweep are small, whatever there is to delete: between two of them others get the writer.
func TestSweepInSmallTransactions(t *testing.T) {
	t.Parallel()
	store := openInside(t)
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	const children = 5 * journal.SweepBatch
	parent := store.children(t, fences, children)
	commits := func(sweep func()) int {
		before := store.Commits()
		sweep()
		return int(store.Commits() - before)
	}
	deleted := 0
	sweep := func() {
		n, err := store.Sweep(t.Context(), fences, journal.Never, 2*children)
		require.NoError(t, err)
		deleted += n
	}
	require.GreaterOrEqual(t, commits(sweep), 5, "what is held")
	require.Zero(t, deleted)

	w := journal.Write{ID: parent, Run: journal.RunID(parent), Fence: fences[parent.Shard()]}
	for seq := range uint64(3 * journal.SweepEntries) {
		w.Entries = append(w.Entries, journal.Entry{Seq: seq + 1, Kind: journal.Delivery})
	}
	w.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: children + 1}
	results, err := store.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.GreaterOrEqual(t, commits(sweep), 5+5+3, "what is freed, what is deleted, and the journal of the parent")
	require.Equal(t, children+1, deleted)
}

// The rows of a run are deleted in small transactions, in rows and in bytes.
func TestPurgeInSmallPieces(t *testing.T) {
	t.Parallel()
	store := openInside(t)
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	id := store.children(t, fences, 0)
	w := journal.Write{ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()]}
	const rows, bytes = 2 * journal.SweepEntries, 5000
	for i := range rows {
		size := 0
		if i >= rows/2 {
			size = bytes
		}
		m := journal.Message{
			Envelope: journal.Envelope{Kind: journal.CallMessage, Bytes: size}, Value: make([]byte, size),
		}
		m.Origin = journal.Origin{byte(i >> 8), byte(i), 1}
		w.Entries = append(w.Entries, journal.Entry{Seq: uint64(2*i + 1), Value: m.Value})
		w.Send = append(w.Send, journal.Sent{To: id, Chain: w.Run, Message: m})
	}
	end := journal.Write{
		ID: id, Run: w.Run, Fence: w.Fence, Update: &journal.Update{State: journal.Completed, FinishedAt: 1},
	}
	results, err := store.Commit(t.Context(), []journal.Write{w, end})
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
	require.NoError(t, store.Delete(t.Context(), w.Fence, id, w.Run, 0))
	pieces := &pieces{
		swept: swept{store},
		size:  func() int64 { return sizeOf(t, store, id) },
		rows:  func() int64 { return rowsOf(t, store, id) },
	}
	_, err = sqlsweep.New(pieces, sweepFailed).Purge(t.Context(), fences, 10*rows)
	require.NoError(t, err)
	require.Greater(t, len(pieces.sizes), 2*rows/journal.SweepEntries)
	for i, size := range pieces.sizes {
		require.LessOrEqual(t, size, int64(journal.SweepBytes+bytes+200))
		require.LessOrEqual(t, pieces.counts[i], int64(journal.SweepEntries))
	}
	require.Zero(t, sizeOf(t, store, id))
}

// pieces notes how many bytes and rows each transaction of a sweep deletes.
type pieces struct {
	swept
	size, rows    func() int64
	sizes, counts []int64
}

func (p *pieces) Owned(ctx context.Context, own journal.Owned, use func(context.Context, sqlsweep.Tx) error) error {
	bytes, rows := p.size(), p.rows()
	err := p.swept.Owned(ctx, own, use)
	p.sizes, p.counts = append(p.sizes, bytes-p.size()), append(p.counts, rows-p.rows())
	return err
}

// sizeOf is how many bytes the messages and entries of the first run of an execution have.
func sizeOf(t *testing.T, store *Store, id journal.ID) int64 {
	return store.sumOf(t, id, "sum(bytes)", "sum(length(body))")
}

// rowsOf is how many messages and entries it has.
func rowsOf(t *testing.T, store *Store, id journal.ID) int64 {
	return store.sumOf(t, id, "count(*)", "count(*)")
}

// sumOf adds an aggregate of the messages of an execution to one of its entries.
func (s *Store) sumOf(t *testing.T, id journal.ID, ofMessages, ofEntries string) (sum int64) {
	for _, query := range []string{
		"SELECT coalesce(" + ofMessages + ", 0) FROM cruster_inbox WHERE shard = ?1 AND id = ?2",
		"SELECT coalesce(" + ofEntries + ", 0) FROM cruster_entries WHERE shard = ?1 AND run = ?2",
	} {
		require.NoError(t, run(s.writer, query, values(id), func(row *sqlite.Stmt) error {
			sum += row.ColumnInt64(0)
			return nil
		}))
	}
	return sum
}

// A store may have rows of a run that was started twice, from before that was refused. They hold up no sweep, no
// deletion and no continuation.
func TestSweepOfARunRetiredBefore(t *testing.T) {
	t.Parallel()
	store := openInside(t)
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	var ids []journal.ID
	var writes []journal.Write
	for _, key := range []string{"swept", "deleted", "continued", "other"} {
		id := journal.IDOf("default", "orders/Process", key)
		e := journal.Execution{
			ID:         id,
			Run:        journal.RunID(id),
			Namespace:  "default",
			Workflow:   "orders/Process",
			Key:        key,
			State:      journal.Completed,
			FinishedAt: 1,
		}
		if key == "continued" {
			e.State, e.FinishedAt = journal.Running, 0
		}
		ids, writes = append(
			ids, id,
		), append(writes, journal.Write{ID: id, Run: e.Run, Fence: fences[id.Shard()], Start: &e})
	}
	commit := func(writes []journal.Write) {
		results, err := store.Commit(t.Context(), writes)
		require.NoError(t, err)
		for _, r := range results {
			require.NoError(t, r.Err)
		}
	}
	commit(writes)
	require.NoError(t, run(store.writer, `INSERT INTO cruster_retired
		SELECT shard, run, id, NULL, key = 'swept' FROM cruster_executions WHERE key <> 'other'`, nil, nil))

	require.NoError(t, store.Delete(t.Context(), fences[ids[1].Shard()], ids[1], journal.RunID(ids[1]), 0))
	commit([]journal.Write{{
		ID:       ids[2],
		Run:      journal.RunID(ids[2]),
		Fence:    fences[ids[2].Shard()],
		Continue: &journal.Continuation{Run: journal.RunID{1}},
	}})
	n, err := store.Sweep(t.Context(), fences, journal.Never, 10)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = store.Purge(t.Context(), fences, 1000)
	require.NoError(t, err)
	require.NoError(
		t,
		run(store.writer, "SELECT count(*) FROM cruster_retired WHERE holds = 0", nil, func(row *sqlite.Stmt) error {
			require.Zero(t, row.ColumnInt(0))
			return nil
		}),
	)
}
