package sqlite

import (
	"context"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal/sqlread"
)

// reads are the queries of the plain reads.
var reads = sqlread.NewQueries(sqlread.Dialect{
	Store: "sqlite", Tables: "cruster_",
	// SQLite compares the value of a parameter with the conditions of partial indexes and with limits, and then
	// prepares the statement again for each other value, at many times the cost of a look-up. It does not compare +?1.
	Parameter: "+?",
	Input:     "i.input", Inputs: " LEFT JOIN cruster_inputs i ON i.shard = e.shard AND i.run = e.run",
	Binary: "binary", Flags: "flags & 1, flags & 2",
	// SQLite takes a walk over all superseded runs of the execution for as good.
	ByRequest: " INDEXED BY cruster_executions_request",
	// Over its key it would walk through the inbox.
	ParkedOfEntity: "cruster_inbox INDEXED BY cruster_inbox_parked",
})

// reader has the plain reads of a store.
type reader = sqlread.Reader

// database runs the queries of the plain reads.
type database struct{ *Store }

// Query implements sqlread.DB.
func (d database) Query(ctx context.Context, text string, args []any, to sqlread.Sink) error {
	to.Begin()
	r := rows.Get().(*row)
	defer r.putBack()
	return d.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, text, func(stmt *sqlite.Stmt) { bindValues(stmt, args) }, func(stmt *sqlite.Stmt) error {
			r.stmt = stmt
			return to.Add(r)
		})
	})
}

// rows are to be used again.
var rows = sync.Pool{New: func() any { return new(row) }}

// maxPooled bounds the buffers that they keep.
const maxPooled = 64 << 10

func (r *row) putBack() {
	if r.stmt = nil; cap(r.buffer) <= maxPooled {
		rows.Put(r)
	}
}

// scan makes the scan of a plain read one of statements.
func scan[T any](scan sqlread.Scan[T]) func(*sqlite.Stmt) (T, error) {
	r := &row{}
	return func(stmt *sqlite.Stmt) (v T, err error) {
		r.stmt = stmt
		err = scan(r, &v)
		return v, err
	}
}

// row is a row of a statement.
type row struct {
	stmt   *sqlite.Stmt
	buffer []byte // lent to destinations
}

// Scan implements sqlread.Row. NULL is the zero value.
func (r *row) Scan(dest ...any) error {
	for col, into := range dest {
		switch into := into.(type) {
		case *string:
			*into = r.stmt.ColumnText(col)
		case *int64:
			*into = r.stmt.ColumnInt64(col)
		case *uint64:
			*into = uint64(r.stmt.ColumnInt64(col))
		case *uint32:
			*into = uint32(r.stmt.ColumnInt64(col))
		case *int:
			*into = r.stmt.ColumnInt(col)
		case *bool:
			*into = r.stmt.ColumnInt64(col) != 0
		case *[]byte:
			*into = blob(r.stmt, col)
		case sqlread.BytesScanner:
			if err := into.ScanBytes(r.lend(col)); err != nil {
				return fmt.Errorf("column %s: %w", r.stmt.ColumnName(col), err)
			}
		default:
			panic(fmt.Sprintf("sqlite: a destination of type %T", into))
		}
	}
	return nil
}

// lend reads a value into the buffer; nil if it is NULL.
func (r *row) lend(col int) []byte {
	n := r.stmt.ColumnBytes(col, r.buffer)
	if n == len(r.buffer) { // there may be more
		r.buffer = make([]byte, max(2*r.stmt.ColumnLen(col), 64))
		n = r.stmt.ColumnBytes(col, r.buffer)
	}
	if n == 0 && r.stmt.ColumnIsNull(col) {
		return nil
	}
	return r.buffer[:n]
}
