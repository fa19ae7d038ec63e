package crustertest

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// Text that is no parameter stays as it is.
func TestParameters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"UPDATE t SET a = $2 WHERE id = $1":          "UPDATE t SET a = ?2 WHERE id = ?1",
		"SELECT ?, $2":                               "SELECT ?1, ?2",
		"SELECT '$1', 'it''s $2', $1, $2":            "SELECT '$1', 'it''s $2', ?1, ?2",
		`SELECT "$1", [$1], ` + "`$1`" + `, $2`:      `SELECT "$1", [$1], ` + "`$1`" + `, ?2`,
		"SELECT $2 -- what $1 is\n, $1 /* not $1 */": "SELECT ?2 -- what $1 is\n, ?1 /* not $1 */",
		"SELECT $$ $1 $$, $a$ $1 $$ $a$, $2":         "SELECT $$ $1 $$, $a$ $1 $$ $a$, ?2",
		"SELECT a$1, ä$1, x.$2":                      "SELECT a$1, ä$1, x.?2",
		"SELECT '$1 is not closed, $2":               "",
		"SELECT $1, $2, $3":                          "",
		"SELECT $1":                                  "",
		"SELECT $0, $2":                              "",
		"SELECT $1x, $2":                             "",
		"SELECT :1, $2":                              "",
		"SELECT @1, $2":                              "",
	} {
		got, _, err := forSQLite(text, []any{int64(1), "two"})
		require.Equal(t, want, got)
		require.Equal(t, want == "", abi.CodeOf(err) == abi.CodeSQLArgument, "%s: %v", text, err)
	}
}

// Arguments that a host refuses.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, bad := range []any{[]any{[]any{1}}, []any{map[string]any{}}, "text", make([]any, abi.MaxSQLArgs+1)} {
		_, err := abi.DecodeSQLArgs(abi.MustMarshal(bad))
		require.Equal(t, abi.CodeSQLArgument, err.Code, "%v", err)
	}
	for _, bad := range []any{uint64(math.MaxUint64), math.NaN(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, _, err := forSQLite("SELECT $1", []any{bad})
		require.Equal(t, abi.CodeSQLArgument, abi.CodeOf(err), "%v", err)
	}
}

// countingDB is a database whose transactions count their outcomes.
type countingDB struct {
	begun, committed, rolledBack int
	failing                      error // of Begin and Exec
}

func (d *countingDB) Begin() (Transaction, error) { d.begun++; return d, d.failing }

func (d *countingDB) Exec(string, []any) (int64, error) { return 1, d.failing }

func (d *countingDB) Query(string, []any) ([]string, [][]any, error) {
	return []string{"n"}, [][]any{{1}}, nil
}

func (d *countingDB) Commit() error { d.committed++; return nil }

func (d *countingDB) Rollback() error { d.rolledBack++; return nil }

func TestTransactionOfAnAttempt(t *testing.T) {
	t.Parallel()
	db := &countingDB{}
	statement := abi.SQL{Args: abi.MustMarshal([]any{1}), Query: "SELECT $1"}
	attempt := func() *attemptHost { return &attemptHost{world: newWorld(newConfig([]Option{UseDatabase(db)}))} }

	unused := attempt()
	require.NoError(t, unused.endTransaction(true))
	require.Zero(t, *db, "an attempt without SQL has no transaction")

	succeeds := attempt()
	reply, err := succeeds.sql(abi.ImportTxExec, statement)
	require.NoError(t, err)
	require.Equal(t, abi.ExecReply{RowsAffected: 1}, reply)
	reply, err = succeeds.sql(abi.ImportTxQuery, statement)
	require.NoError(t, err)
	require.Equal(t, abi.QueryReply{Columns: []string{"n"}, Rows: [][]any{{1}}}, reply)
	require.NoError(t, succeeds.endTransaction(true))
	require.Equal(t, countingDB{begun: 1, committed: 1}, *db)

	fails := attempt()
	_, err = fails.sql(abi.ImportTxExec, statement)
	require.NoError(t, err)
	require.NoError(t, fails.endTransaction(false))
	require.Equal(t, countingDB{begun: 2, committed: 1, rolledBack: 1}, *db)

	db.failing = errors.New("disk full")
	_, err = attempt().sql(abi.ImportTxExec, statement)
	require.Equal(t, abi.CodeSQL, abi.CodeOf(err))
	require.ErrorContains(t, err, "begin: disk full")
}
