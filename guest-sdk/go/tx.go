package cruster

import (
	"fmt"
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Tx is the SQL transaction of an activity, or of a call of an entity without a state; see [ActivityContext.Tx] and
// [RPCContext.Tx]. $1, $2, … stand for the arguments, on every database. Arguments are nil, booleans, numbers, strings,
// []byte and time.Time.
type Tx struct {
	effects effects
	keep    *guest.Keep
}

// Rows are the rows of a query. A value is nil, a bool, an integer, a float, a string, []byte or a time.Time.
type Rows struct {
	Columns []string
	Values  [][]any // by row, one for each column
}

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(sql string, args ...any) (int64, error) {
	raw, err := t.run(&callTxExec, sql, args)
	if err != nil {
		return 0, err
	}
	reply, err := guest.DecodeExecReply(raw)
	return reply.RowsAffected, undecoded(&callTxExec, err)
}

// Query runs a query and returns its rows. T is one of:
//
//   - a struct: each column goes to the field of that name (the db tag, else the msgpack or json
//     tag, else the field's name in any case); a column without a field is an error, and so is a
//     field without a column, unless its tag is db:",optional", or db:"-" for a field that is no
//     column at all
//   - a scalar, time.Time or []byte: the query has one column
//   - map[string]any or []any: the row as it is
//
// A column that can be NULL needs a pointer, a slice or an any.
func Query[T any](t *Tx, sql string, args ...any) ([]T, error) {
	all, err := t.Query(sql, args...)
	if err != nil {
		return nil, err
	}
	scan, err := newScanner(reflect.TypeFor[T](), all.Columns)
	if err != nil {
		return nil, err
	}
	rows := make([]T, len(all.Values))
	for i, row := range all.Values {
		if err := scan(reflect.ValueOf(&rows[i]).Elem(), row); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return rows, nil
}

// QueryRow returns the row of a query, or [ErrNoRows]. More than one row is an error: add LIMIT 1
// to a query that is meant to find many.
func QueryRow[T any](t *Tx, sql string, args ...any) (T, error) {
	rows, err := Query[T](t, sql, args...)
	switch {
	case err != nil:
	case len(rows) == 1:
		return rows[0], nil
	case len(rows) == 0:
		err = ErrNoRows
	default:
		err = errManyRows
	}
	var zero T
	return zero, err
}

// Query runs a query and returns its rows as the database has them. The function [Query] returns them as values of a
// type.
func (t *Tx) Query(sql string, args ...any) (*Rows, error) {
	raw, err := t.run(&callTxQuery, sql, args)
	if err != nil {
		return nil, err
	}
	reply, err := guest.DecodeQueryReply(raw)
	if err != nil {
		return nil, undecoded(&callTxQuery, err)
	}
	for i, row := range reply.Rows {
		if len(row) != len(reply.Columns) {
			return nil, abi.Errorf(
				abi.CodeGuestProtocol, "row %d has %d values for %d columns", i+1, len(row), len(reply.Columns),
			)
		}
	}
	return &Rows{Columns: reply.Columns, Values: reply.Rows}, nil
}

// Rollback undoes the statements so far. The activity goes on: it may return a result, make HTTP
// calls, or begin another transaction with the next statement. An activity that returns an error
// needs no Rollback.
func (t *Tx) Rollback() error {
	var reply any
	if err := t.effects.do(&callTxRollback, abi.TxRollback{}, &reply); err != nil {
		return err
	}
	t.keep.Wrote.Store(false)
	return nil
}

// run has the host run a statement, and returns its answer.
func (t *Tx) run(call *guest.Call, sql string, args []any) ([]byte, error) {
	body, err := guest.EncodeSQL(sql, args)
	if err != nil {
		return nil, err
	}
	if guest.MayWrite(sql) {
		t.keep.Wrote.Store(true)
	}
	raw, failed := t.effects.host.Do(call, body)
	if failed != nil {
		return nil, failed
	}
	return raw, nil
}
