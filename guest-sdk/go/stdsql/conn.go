package stdsql

import (
	"context"
	"database/sql/driver"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// conn is a connection as database/sql has them.
type conn struct {
	session *session
	part    *part // that it has begun; nil if there is none, or it has ended
}

var (
	_ driver.ConnBeginTx    = (*conn)(nil)
	_ driver.ExecerContext  = (*conn)(nil)
	_ driver.QueryerContext = (*conn)(nil)
	_ driver.Pinger         = (*conn)(nil)
)

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if opts != (driver.TxOptions{}) {
		return nil, refused(
			"the isolation of an activity's transaction is the host's to choose, and it may write",
		).WithHint("Begin it without options.")
	}
	p, err := c.session.begin()
	if err != nil {
		return nil, err
	}
	c.part = p
	return p, nil
}

// Close implements driver.Conn. The transaction ends with the attempt.
func (c *conn) Close() error { return nil }

// Ping implements driver.Pinger.
func (c *conn) Ping(ctx context.Context) error { return ctx.Err() }

// Prepare implements driver.Conn. A statement that cannot be run says so when it is.
func (c *conn) Prepare(query string) (driver.Stmt, error) { return &stmt{conn: c, query: query}, nil }

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	values, err := c.prepare(ctx, args)
	if err != nil {
		return nil, err
	}
	n, err := c.session.tx.Exec(query, values...)
	if err != nil {
		return nil, err
	}
	return changed(n), nil
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	values, err := c.prepare(ctx, args)
	if err != nil {
		return nil, err
	}
	all, err := c.session.tx.Query(query, values...)
	if err != nil {
		return nil, err
	}
	return &rows{Rows: all}, nil
}

// prepare checks a statement and its arguments.
func (c *conn) prepare(ctx context.Context, args []driver.NamedValue) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values := make([]any, len(args))
	for i, arg := range args {
		if arg.Name != "" {
			return nil, abi.Errorf(abi.CodeSQLArgument, "argument %d has the name %q", i+1, arg.Name).WithHint(
				"Write $%d, and pass the value without sql.Named.", i+1,
			)
		}
		values[i] = arg.Value
	}
	return values, c.session.admit(c)
}

// stmt is a statement that is run several times.
type stmt struct {
	conn  *conn
	query string
}

var (
	_ driver.StmtExecContext  = (*stmt)(nil)
	_ driver.StmtQueryContext = (*stmt)(nil)
)

// Close implements driver.Stmt.
func (s *stmt) Close() error { return nil }

// NumInput implements driver.Stmt: it is not known.
func (s *stmt) NumInput() int { return -1 }

// Exec implements driver.Stmt.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), numbered(args))
}

// Query implements driver.Stmt.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), numbered(args))
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.query, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.query, args)
}

func numbered(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}

// changed is how many rows a statement has changed.
type changed int64

// RowsAffected implements driver.Result.
func (c changed) RowsAffected() (int64, error) { return int64(c), nil }

// LastInsertId implements driver.Result.
func (c changed) LastInsertId() (int64, error) {
	return 0, refused("there is no LastInsertId on every database").WithHint(
		"Use INSERT … RETURNING, and read its row.",
	)
}

// rows are the rows of a query, which are all there.
type rows struct {
	*cruster.Rows
	next int
}
