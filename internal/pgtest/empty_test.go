package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestEmpty(t *testing.T) {
	t.Parallel()
	schema := Schema(t)
	Empty(t, schema) // there is none
	conn, err := pgx.Connect(t.Context(), DSN(t))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, stmt := range []string{
		`CREATE SCHEMA ` + schema,
		`CREATE TABLE ` + schema + `.goose_db_version (version_id int)`,
		`CREATE TABLE ` + schema + `.shards (shard int, epoch int, token bytea, owner text)`,
		`CREATE TABLE ` + schema + `.a (n int PRIMARY KEY)`,
		`CREATE TABLE ` + schema + `.b (n int REFERENCES ` + schema + `.a)`,
		`CREATE SCHEMA ` + schema + `__tenant`,
		`CREATE TABLE ` + schema + `__tenant.t (n int)`,
		`INSERT INTO ` + schema + `.goose_db_version VALUES (7)`,
		`INSERT INTO ` + schema + `.shards VALUES (0, 3, '\x01', 'a host')`,
		`INSERT INTO ` + schema + `.a VALUES (1)`,
		`INSERT INTO ` + schema + `.b VALUES (1)`,
	} {
		_, err := conn.Exec(t.Context(), stmt)
		require.NoError(t, err)
	}
	Empty(t, schema)
	var versions, rows, shards, tables int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM `+schema+`.goose_db_version),
		(SELECT count(*) FROM `+schema+`.a) + (SELECT count(*) FROM `+schema+`.b),
		(SELECT count(*) FROM `+schema+`.shards WHERE epoch = 0 AND owner = ''),
		(SELECT count(*) FROM pg_tables WHERE schemaname = $1)`, schema+"__tenant").Scan(
		&versions, &rows, &shards, &tables,
	))
	require.Equal(t, []int{1, 0, 1, 0}, []int{versions, rows, shards, tables})
}
