package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

// TestStartBesideAnother starts an execution that another connection starts while the store reads
// the rows that the write depends on, between two of its queries: the execution is there, and was
// not there before.
func TestStartBesideAnother(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	template := journal.IDOf("default", "bank/Transfer", "a template")
	store.start(t, fences, []journal.Execution{{
		ID: template, Run: journal.RunID(template), Namespace: "default", State: journal.Running,
	}})
	twice := func(id journal.ID) []journal.Write { // decided one by one
		w := journal.Write{ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()]}
		w.Start = &journal.Execution{ID: id, Run: w.Run, Namespace: "default", State: journal.Running}
		return []journal.Write{w, w}
	}
	// A statement that the connection has not seen would wait for the lock at once.
	_, err := store.Commit(t.Context(), twice(journal.IDOf("default", "bank/Transfer", "the first")))
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	other, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), `LOCK `+store.sql.retired+` IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)

	id := journal.IDOf("default", "bank/Transfer", "one")
	done := make(chan []journal.Result, 1)
	go func() {
		results, err := store.Commit(t.Context(), twice(id))
		if err != nil {
			results = []journal.Result{{Err: err}}
		}
		done <- results
	}()
	require.True(t, waitsInside(t, other, store, done),
		"it waits outside of its transaction, before all of its reads: its statements are not prepared")
	_, err = other.Exec(t.Context(), `INSERT INTO `+store.sql.executions+` SELECT (jsonb_populate_record(e,
			jsonb_build_object('shard', $2::int2, 'id', $3::bytea, 'run', $3::bytea))).*
		FROM `+store.sql.executions+` e WHERE id = $1`, template[:], int16(id.Shard()), id[:])
	require.NoError(t, err)
	require.NoError(t, other.Commit(t.Context()))
	require.Equal(t, []journal.Result{{Existed: true}, {Existed: true}}, <-done)
}

// waitsInside waits until a commit waits for the lock of the retired runs, and tells whether it is inside of its
// transaction then, which begins with a lock of the shards. The commit gives up after [Config.CallLimit].
func waitsInside(t *testing.T, tx pgx.Tx, store *Store, done <-chan []journal.Result) (inside bool) {
	t.Helper()
	const query = `WITH l AS MATERIALIZED (
			SELECT * FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()))
		SELECT EXISTS (SELECT FROM l WHERE pid = w.pid AND relation = $2::regclass AND mode = 'ShareLock' AND granted)
		FROM l AS w WHERE relation = $1::regclass AND mode = 'AccessShareLock' AND NOT granted`
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		err := tx.QueryRow(t.Context(), query, store.sql.retired, store.sql.shards).Scan(&inside)
		if err == nil {
			return inside
		}
		require.ErrorIs(t, err, pgx.ErrNoRows)
		select {
		case results := <-done:
			require.FailNow(t, "the commit did not wait for the lock", "%v", results)
		case <-again.C:
		}
	}
}
