// Package sqlread has the plain reads of the SQL stores: they differ in the names of tables and in
// a few words of their statements only. Each store provides these ([Dialect]) and runs the queries
// ([DB]); its own are the reads whose statements are really others: see RATIONALE.md.
//
// It imports journal and abi, and nothing of a store. Start reading at [Reader], then queries.go and scan.go.
package sqlread

import (
	"context"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Dialect is the wording in which a store differs from the other.
type Dialect struct {
	// Store is the name that errors begin with.
	Store string
	// Tables is the prefix of the names of tables.
	Tables string
	// Parameter is the prefix of a parameter's number.
	Parameter string

	// Input is the column of inputs, and Inputs joins the table that has it, if it is another one.
	Input, Inputs string
	// Binary is the column of the binary of a module.
	Binary string
	// Flags are two columns of a message: whether it is repeatable, and whether it is held.
	Flags string
	// ByRequest has superseded runs found by an index.
	ByRequest string
	// ParkedOfEntity are the messages of an entity ($1, $2) that are parked, found by an index.
	ParkedOfEntity string

	// IsText tells whether the store takes a text, if there are some that it does not take.
	IsText func(string) bool
}

// CheckText refuses texts that the store does not take.
func (d *Dialect) CheckText(texts ...string) error {
	for _, text := range texts {
		if d.IsText != nil && !d.IsText(text) {
			return abi.Errorf(abi.CodeBadRequest, "%q is not text", text)
		}
	}
	return nil
}

// Row is a row of a result. Scan takes a destination for each column: a pointer to a string, an integer, a bool or
// bytes, or a [BytesScanner].
type Row interface {
	Scan(dest ...any) error
}

// BytesScanner is a destination for bytes that it copies; nil is NULL.
type BytesScanner interface {
	ScanBytes(b []byte) error
}

// DB runs the queries of a store.
type DB interface {
	// Query hands the rows of a query to a sink.
	Query(ctx context.Context, text string, args []any, to Sink) error
}

// Sink takes the rows of a query. Begin comes before the first one, and once more if a lost connection has the query
// repeated.
type Sink interface {
	Begin()
	Add(row Row) error
}

// Reader reads from a store. Its methods implement methods of journal.Store.
type Reader struct {
	db      DB
	queries *Queries
}

// New makes a reader of a store.
func New(db DB, queries *Queries) *Reader { return &Reader{db, queries} }

// Scan reads a row into a value.
type Scan[T any] func(row Row, v *T) error

// values are rows that were read.
type values[T any] struct {
	scan Scan[T]
	all  []T
}

func (v *values[T]) Begin() { v.all = nil }

func (v *values[T]) Add(row Row) error {
	v.all = append(v.all, *new(T))
	return v.scan(row, &v.all[len(v.all)-1])
}

// All reads the rows of a query. Errors name the rows and their subject; nil stands for nothing in
// particular.
func All[T any](
	ctx context.Context, r *Reader, scan Scan[T], what string, of any, text string, args ...any,
) ([]T, error) {
	found := &values[T]{scan: scan}
	if err := r.read(ctx, found, what, of, text, args...); err != nil {
		return nil, err
	}
	return found.all, nil
}

func (r *Reader) read(ctx context.Context, to Sink, what string, of any, text string, args ...any) error {
	err := r.db.Query(ctx, text, args, to)
	switch {
	case err == nil:
		return nil
	case of != nil:
		what = fmt.Sprint(what, " ", of)
	}
	return fmt.Errorf("%s: read %s: %w", r.queries.Store, what, err)
}

// One reads the row that a query finds; journal.ErrNotFound if it finds none.
func One[T any](
	ctx context.Context, r *Reader, scan Scan[T], what string, of any, text string, args ...any,
) (*T, error) {
	all, err := All(ctx, r, scan, what, of, text, args...)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, journal.ErrNotFound
	}
	return &all[0], nil
}
