package crustertest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestQuestionMarks(t *testing.T) {
	t.Parallel()
	require.Equal(t, "UPDATE t SET a = ?2 WHERE id = ?1", questionMarks("UPDATE t SET a = $2 WHERE id = $1"))
	require.Equal(t, "SELECT ?12", questionMarks("SELECT $12"))
}

// countingDB is a database whose transactions count what becomes of them.
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
