package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

// TestStartBesideAnother starts an execution that another connection starts while the store reads what the write
// depends on, between two of its queries: the execution is there, and was not there before.
func TestStartBesideAnother(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	template := journal.IDOf("default", "bank/Transfer", "a template")
	store.start(t, fences, []journal.Execution{{ID: template, Run: journal.RunID(template), Namespace: "default", State: journal.Running}})
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
	done := make(chan []journal.Result)
	go func() {
		results, err := store.Commit(t.Context(), twice(id))
		if err != nil {
			results = []journal.Result{{Err: err}}
		}
		done <- results
	}()
	for waits := false; !waits; {
		const query = `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = $1::regclass AND NOT granted)`
		require.NoError(t, other.QueryRow(t.Context(), query, store.sql.retired).Scan(&waits))
	}
	_, err = other.Exec(t.Context(), `INSERT INTO `+store.sql.executions+` SELECT (jsonb_populate_record(e,
			jsonb_build_object('shard', $2::int2, 'id', $3::bytea, 'run', $3::bytea))).*
		FROM `+store.sql.executions+` e WHERE id = $1`, template[:], int16(id.Shard()), id[:])
	require.NoError(t, err)
	require.NoError(t, other.Commit(t.Context()))
	require.Equal(t, []journal.Result{{Existed: true}, {Existed: true}}, <-done)
}
