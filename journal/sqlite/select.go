package sqlite

import (
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// values binds values to the parameters of a statement, in order. Keys are several parameters: see bindValue.
func values(list ...any) func(*sqlite.Stmt) {
	return func(stmt *sqlite.Stmt) { bindValues(stmt, list) }
}

func bindValues(stmt *sqlite.Stmt, list []any) {
	param := 1
	for _, v := range list {
		param += bindValue(stmt, param, v)
	}
}

// bindValue binds a value, and tells how many parameters it takes: an ID and a RunKey come with their shard, a Receiver
// with its shard and chain, a Caller is an execution, a run and a step. Nil is NULL, empty is an empty blob.
func bindValue(stmt *sqlite.Stmt, param int, value any) int {
	switch v := value.(type) {
	case journal.ID:
		stmt.BindInt64(param, int64(v.Shard()))
		stmt.BindBytes(param+1, v[:])
		return 2
	case journal.RunKey:
		stmt.BindInt64(param, int64(v.Shard))
		stmt.BindBytes(param+1, v.Run[:])
		return 2
	case journal.Receiver:
		stmt.BindInt64(param, int64(v.ID.Shard()))
		stmt.BindBytes(param+1, v.ID[:])
		if v.Chain.IsZero() { // an entity has none
			stmt.BindZeroBlob(param+2, 0)
		} else {
			stmt.BindBytes(param+2, v.Chain[:])
		}
		return 3
	case journal.Caller:
		bindCaller(stmt, param, v)
		return 3
	case *sqlread.ID:
		stmt.BindBytes(param, v[:])
	case journal.RunID:
		stmt.BindBytes(param, v[:])
	case journal.Origin:
		stmt.BindBytes(param, v[:])
	case journal.StepID:
		stmt.BindBytes(param, v[:])
	case []byte:
		if v == nil {
			stmt.BindNull(param)
		} else {
			stmt.BindBytes(param, v)
		}
	case string:
		stmt.BindText(param, v)
	case int:
		stmt.BindInt64(param, int64(v))
	case int16:
		stmt.BindInt64(param, int64(v))
	case int64:
		stmt.BindInt64(param, v)
	case uint64:
		stmt.BindInt64(param, int64(min(v, math.MaxInt64)))
	case float64:
		stmt.BindFloat(param, v)
	case bool:
		stmt.BindBool(param, v)
	case nil:
		stmt.BindNull(param)
	default:
		panic(fmt.Sprintf("sqlite: a parameter of type %T", value))
	}
	return 1
}

// bindCaller binds a step to three parameters, NULL if there is none.
func bindCaller(stmt *sqlite.Stmt, param int, c journal.Caller) {
	if c.IsZero() {
		for i := range 3 {
			stmt.BindNull(param + i)
		}
		return
	}
	stmt.BindBytes(param, c.ID[:])
	stmt.BindBytes(param+1, c.Run[:])
	stmt.BindBytes(param+2, c.Step[:])
}

// exec runs a statement that yields no rows.
func exec(conn *sqlite.Conn, query string, list ...any) error {
	return run(conn, query, values(list...), nil)
}

// selectOne reads the row that a query finds; nil if it finds none.
func selectOne[T any](conn *sqlite.Conn, scan func(*sqlite.Stmt) (T, error), query string, list ...any) (*T, error) {
	all, err := selectAll(conn, scan, query, list...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func selectAll[T any](
	conn *sqlite.Conn, scan func(*sqlite.Stmt) (T, error), query string, list ...any,
) (all []T, err error) {
	err = run(conn, query, values(list...), func(row *sqlite.Stmt) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	})
	return all, err
}

func scanInt(row *sqlite.Stmt) (int64, error) { return row.ColumnInt64(0), nil }
