package postgres_test

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/storetest"
)

// A schema of a version that keyed rows by execution is brought up to date, and nothing of it is lost.
func TestStoreFromBeforeRuns(t *testing.T) {
	t.Parallel()
	storetest.RunBefore(t, open(t, postgres.Config{Schema: restoreBefore(t)}))
}

// A callee that such a version had given up is asked to stop.
func TestGiveUpsBecomeRequests(t *testing.T) {
	t.Parallel()
	schema := restoreBefore(t)
	conn := inSchema(t, schema)
	_, err := conn.Exec(
		t.Context(),
		"UPDATE executions SET state = 'running', finished_at = 0, held_by = NULL, pinned = $1 WHERE key = 'child'",
		storetest.PinnedToStop(),
	)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE given_up SET step = $1", make([]byte, 16))
	require.NoError(t, err)
	storetest.RunGivenUpBefore(t, open(t, postgres.Config{Schema: schema}))
}

// Its settlement is in an inbox.
func TestDeferredsBecomeMessages(t *testing.T) {
	t.Parallel()
	schema := restoreBefore(t)
	conn := inSchema(t, schema)
	for _, d := range storetest.SettledBefore() {
		var failure []byte
		if d.Error != nil {
			failure = abi.MustMarshal(d.Error)
		}
		_, err := conn.Exec(t.Context(),
			`INSERT INTO deferreds (shard, id, name, value, error, at, origin)
			SELECT shard, id, $1, $2, $3, $4, $5 FROM executions WHERE key = 'a'`,
			d.Name,
			d.Value,
			failure,
			d.At,
			d.Origin[:],
		)
		require.NoError(t, err)
	}
	storetest.RunSettledBefore(t, open(t, postgres.Config{Schema: schema}))
}

// inSchema is a connection to the tables of a schema.
func inSchema(t *testing.T, schema string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), "SET search_path = "+pgx.Identifier{schema}.Sanitize())
	require.NoError(t, err)
	return conn
}

// restoreBefore makes a schema as a version before left it.
func restoreBefore(t *testing.T) (schema string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", "before", "runs.sql.gz"))
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	script, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	schema = pgtest.Schema(t)
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.PgConn().Exec(
		t.Context(), strings.ReplaceAll(string(script), "{schema}", pgx.Identifier{schema}.Sanitize()),
	).ReadAll()
	require.NoError(t, err)
	return schema
}

// A host of the previous version that is still at work when the schema is changed writes nothing
// any more: its fences are of a past epoch.
func TestHostFromBeforeRunsIsFenced(t *testing.T) {
	t.Parallel()
	schema := restoreBefore(t)
	var epoch int64
	var token []byte
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	shards := pgx.Identifier{schema, "shards"}.Sanitize()
	require.NoError(
		t, conn.QueryRow(t.Context(), "SELECT epoch, token FROM "+shards+" WHERE shard = 7").Scan(&epoch, &token),
	)
	open(t, postgres.Config{Schema: schema})
	var rows int
	require.NoError(
		t,
		conn.QueryRow(
			t.Context(), "SELECT count(*) FROM "+shards+" WHERE epoch = $1 AND token = $2", epoch, token,
		).Scan(&rows),
	)
	require.Zero(t, rows)
}
