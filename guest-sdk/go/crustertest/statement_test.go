package crustertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestCheckStatement(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"SELECT 1", " select 1 ; ", "-- a comment; with more\nWITH x AS (SELECT 1) SELECT * FROM x",
		"/* ; */ INSERT INTO t VALUES (';')",
		`UPDATE "a;b" SET x = 'it''s; fine'`, "DELETE FROM [a;b];;",
	} {
		require.Nil(t, checkStatement(sql), sql)
	}
	for _, sql := range []string{
		"", " ; ", "-- nothing", "/* open", "COMMIT", "begin", "PRAGMA x", "CREATE TABLE t (x)", "nonsense",
		"SELECT 1; SELECT 2", "'SELECT'",
	} {
		err := checkStatement(sql)
		require.NotNil(t, err, sql)
		require.Equal(t, abi.CodeSQLForbidden, err.Code)
	}
	require.Equal(t, "PRAGMA statements are not for activities", checkStatement("PRAGMA x").Message)
	require.Equal(
		t, `INSRT is not a known statement; did you mean "INSERT"?`, checkStatement("insrt into t values (1)").Message,
	)
}
