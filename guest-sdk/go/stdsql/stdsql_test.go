package stdsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/guest-sdk/go/stdsql"
)

// A database that is opened in an activity is closed with it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var probe = cruster.NewActivity("probe", func(*cruster.ActivityContext, int) (string, error) { return "", nil })

var probing = cruster.NewWorkflow("Probing", func(ctx cruster.Context, _ int) (string, error) {
	return probe.Call(ctx, 0)
})

// inActivity runs fn as an activity and returns the statements sent to the database.
func inActivity(t *testing.T, fn func(ctx *cruster.ActivityContext) error) ([]string, error) {
	t.Helper()
	return inActivityOf(t, &database{at: "2026-01-02T03:04:05.000000006Z"}, fn)
}

// inActivityOf is inActivity with a database.
func inActivityOf(t *testing.T, told *database, fn func(ctx *cruster.ActivityContext) error) ([]string, error) {
	t.Helper()
	stub := crustertest.Stub(probe, func(ctx *cruster.ActivityContext, _ int) (string, error) { return "", fn(ctx) })
	_, err := crustertest.Run(t, probing, 0, crustertest.UseDatabase(told), stub)
	return told.told, err
}

// database notes its statements, and answers queries with one row.
type database struct {
	told []string
	at   string // the last column of its row
}

func (d *database) note(format string, args ...any) {
	d.told = append(d.told, fmt.Sprintf(format, args...))
}

func (d *database) Begin() (crustertest.Transaction, error) { d.note("begin"); return d, nil }

func (d *database) Exec(query string, args []any) (int64, error) {
	d.note("%s %v", query, args)
	return 3, nil
}

func (d *database) Query(query string, args []any) ([]string, [][]any, error) {
	d.note("%s %v", query, args)
	return []string{"n", "f", "b", "s", "nothing", "at"}, [][]any{{int8(7), float32(0.5), true, "text", nil, d.at}}, nil
}

func (d *database) Commit() error   { d.note("commit"); return nil }
func (d *database) Rollback() error { d.note("rollback"); return nil }

func TestStatements(t *testing.T) {
	t.Parallel()
	told, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
		db := stdsql.Open(ctx)
		require.NoError(t, db.PingContext(ctx))
		res, err := db.ExecContext(ctx, "UPDATE a SET n = $1", 5)
		require.NoError(t, err)
		n, err := res.RowsAffected()
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		_, err = res.LastInsertId()
		require.ErrorContains(t, err, "no LastInsertId")
		_, err = db.ExecContext(ctx, "UPDATE a SET n = $1", sql.Named("n", 5))
		require.ErrorContains(t, err, `the name "n"`)

		var (
			number  int64
			float   float64
			yes     bool
			text    string
			nothing sql.NullString
			at      time.Time
		)
		statement, err := db.PrepareContext(ctx, "SELECT * FROM a WHERE n = $1")
		require.NoError(t, err)
		require.NoError(t, statement.QueryRowContext(ctx, "x").Scan(&number, &float, &yes, &text, &nothing, &at))
		require.NoError(t, statement.Close())
		require.Equal(t, []any{int64(7), 0.5, true, "text", false}, []any{number, float, yes, text, nothing.Valid})
		require.True(t, at.Equal(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)), at)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"begin", "UPDATE a SET n = $1 [5]", "SELECT * FROM a WHERE n = $1 [x]", "commit"}, told)
}

// TestTransactions: a transaction behaves as database/sql defines, or is refused.
func TestTransactions(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, ctx context.Context) *sql.Tx {
		tx, err := stdsql.Open(ctx).BeginTx(ctx, nil)
		require.NoError(t, err)
		return tx
	}
	exec := func(t *testing.T, ctx context.Context, on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}, query string,
	) {
		_, err := on.ExecContext(ctx, query)
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, ctx context.Context, db *sql.DB)
		want []string
	}{
		"committed with the result": {func(t *testing.T, ctx context.Context, _ *sql.DB) {
			tx := begin(t, ctx)
			exec(t, ctx, tx, "INSERT a")
			require.NoError(t, tx.Commit())
			require.ErrorIs(t, tx.Rollback(), sql.ErrTxDone, "as it is deferred")
		}, []string{"begin", "INSERT a []", "commit"}},
		"undone, and another": {func(t *testing.T, ctx context.Context, _ *sql.DB) {
			tx := begin(t, ctx)
			exec(t, ctx, tx, "INSERT a")
			require.NoError(t, tx.Rollback())
			tx = begin(t, ctx)
			exec(t, ctx, tx, "INSERT b")
			require.NoError(t, tx.Commit())
		}, []string{"begin", "INSERT a []", "rollback", "begin", "INSERT b []", "commit"}},
		"a second one": {func(t *testing.T, ctx context.Context, db *sql.DB) {
			require.NoError(t, begin(t, ctx).Commit())
			_, err := db.BeginTx(ctx, nil)
			require.ErrorContains(t, err, "commits once")
			exec(t, ctx, db, "INSERT a")
		}, []string{"begin", "INSERT a []", "commit"}},
		"two at a time": {func(t *testing.T, ctx context.Context, db *sql.DB) {
			tx := begin(t, ctx)
			_, err := db.BeginTx(ctx, nil)
			require.ErrorContains(t, err, "open already")
			require.NoError(t, tx.Rollback())
		}, nil},
		"beside an open one": {func(t *testing.T, ctx context.Context, db *sql.DB) {
			tx := begin(t, ctx)
			_, err := db.ExecContext(ctx, "INSERT a")
			require.ErrorContains(t, err, "not one of it")
			require.NoError(t, tx.Commit())
			exec(t, ctx, db, "INSERT a")
		}, []string{"begin", "INSERT a []", "commit"}},
		"behind what was not one": {func(t *testing.T, ctx context.Context, db *sql.DB) {
			exec(t, ctx, db, "INSERT a")
			_, err := db.BeginTx(ctx, nil)
			require.ErrorContains(t, err, "would be undone")
		}, []string{"begin", "INSERT a []", "commit"}},
		"behind what was read": {func(t *testing.T, ctx context.Context, db *sql.DB) {
			exec(t, ctx, db, "\n select 1")
			require.NoError(t, begin(t, ctx).Rollback())
		}, []string{"begin", "\n select 1 []", "rollback"}},
		"with options": {func(t *testing.T, ctx context.Context, db *sql.DB) {
			_, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
			require.ErrorContains(t, err, "the isolation")
			_, err = db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
			require.ErrorContains(t, err, "the isolation")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
				c.do(t, ctx, stdsql.Open(ctx))
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, c.want, told)
		})
	}
}

// TestMisuse: a call that no attempt could make is tried once, and the hint is not about the
// database.
func TestMisuse(t *testing.T) {
	t.Parallel()
	attempts := 0
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
		attempts++
		tx, err := stdsql.Open(ctx).BeginTx(ctx, nil)
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		_, err = stdsql.Open(ctx).BeginTx(ctx, nil)
		var told *cruster.Error
		require.ErrorAs(t, err, &told)
		require.Equal(t, "Do both in one transaction, or make them two activities.", told.Hint)
		return fmt.Errorf("the second: %w", err)
	})
	require.ErrorContains(t, err, "CR-4002: an activity commits once")
	require.Equal(t, 1, attempts)
}

// TestElsewhere: a context that is of no activity has no database, and one of a finished activity
// has none any more.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	nowhere := stdsql.Open(t.Context())
	defer nowhere.Close()
	require.ErrorContains(t, nowhere.PingContext(t.Context()), "not that of an activity")
	var late *sql.DB
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
		late = stdsql.Open(ctx)
		return nil
	})
	require.NoError(t, err)
	require.ErrorContains(t, late.PingContext(t.Context()), "database is closed")
}
