package postgres_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/storetest"
)

// A schema of a version that keyed rows by execution is brought up to date, and nothing of it is lost.
func TestStoreFromBeforeRuns(t *testing.T) {
	t.Parallel()
	packed, err := os.Open(filepath.Join("testdata", "before", "runs.sql.gz"))
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	script, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	schema := pgtest.Schema(t)
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.PgConn().Exec(t.Context(), strings.ReplaceAll(string(script), "{schema}", pgx.Identifier{schema}.Sanitize())).ReadAll()
	require.NoError(t, err)
	storetest.RunBefore(t, open(t, postgres.Config{Schema: schema}))
}
