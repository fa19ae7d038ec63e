package sqlread

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// rows are the results of the attempts at a query.
type rows struct {
	attempts [][]string
	err      error
}

func (r *rows) Query(_ context.Context, _ string, _ []any, to Sink) error {
	for _, attempt := range r.attempts {
		to.Begin()
		for _, text := range attempt {
			if err := to.Add(row(text)); err != nil {
				return err
			}
		}
	}
	return r.err
}

// row has one column.
type row string

func (r row) Scan(dest ...any) error {
	if into, ok := dest[0].(BytesScanner); ok {
		return into.ScanBytes([]byte(r))
	}
	*dest[0].(*string) = string(r)
	return nil
}

func newReader(r *rows) *Reader { return New(r, NewQueries(Dialect{Store: "store"})) }

// TestRowsOfALostConnectionAreDropped: a query that is repeated yields each row once.
func TestRowsOfALostConnectionAreDropped(t *testing.T) {
	t.Parallel()
	r := newReader(&rows{attempts: [][]string{{"a", "b"}, {"a", "c"}}})
	found, err := r.Digests(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c"}, found)
}

func TestErrorsOfReads(t *testing.T) {
	t.Parallel()
	id := journal.ID{0xab}
	lost := errors.New("lost")
	_, err := newReader(&rows{err: lost}).Entity(t.Context(), id)
	require.ErrorIs(t, err, lost)
	require.EqualError(t, err, "store: read entity ab000000000000000000000000000000: lost")
	_, err = newReader(&rows{err: lost}).Digests(t.Context(), "", 10)
	require.EqualError(t, err, "store: read modules: lost")
	_, err = newReader(&rows{}).Entity(t.Context(), id)
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = newReader(&rows{attempts: [][]string{{"short"}}}).Entity(t.Context(), id)
	require.ErrorContains(t, err, "an id has 5 bytes, not 16")
}

func TestDestinations(t *testing.T) {
	t.Parallel()
	id := journal.ID{1}
	require.NoError(t, (*ID)(&id).ScanBytes(nil))
	require.Equal(t, journal.ID{1}, id)
	require.NoError(t, (*ID)(&id).ScanBytes([]byte("0123456789abcdef")))
	require.Equal(t, journal.ID([]byte("0123456789abcdef")), id)
	require.Error(t, (*ID)(&id).ScanBytes(make([]byte, 17)))

	var failure *abi.Error
	require.NoError(t, unpack(&failure).ScanBytes(nil))
	require.Nil(t, failure)
	require.NoError(t, unpack(&failure).ScanBytes(abi.MustMarshal(abi.Errorf(abi.CodeInternal, "no"))))
	require.Equal(t, abi.CodeInternal, failure.Code)
	require.ErrorIs(t, unpack(&failure).ScanBytes([]byte("\xc1")), journal.ErrCorrupt)
}

// TestQueriesAreOfTheirStore: all have the names of its tables and its parameters.
func TestQueriesAreOfTheirStore(t *testing.T) {
	t.Parallel()
	q := NewQueries(Dialect{Tables: "my_", Parameter: "?", ParkedOfEntity: "{inbox}"})
	require.Contains(t, q.Lock, "FROM my_locks l WHERE shard = ?1 AND id = ?2")
	v := reflect.ValueOf(*q)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Type.Kind() == reflect.String {
			require.NotEmpty(t, v.Field(i).String(), f.Name)
			require.NotRegexp(t, `[{}$]`, v.Field(i).String(), f.Name)
		}
	}
}
