package stdsql

import (
	"database/sql/driver"
	"io"
	"math"
	"reflect"
	"time"
)

// Columns implements driver.Rows.
func (r *rows) Columns() []string { return r.Rows.Columns }

// Close implements driver.Rows.
func (r *rows) Close() error { return nil }

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error {
	if r.next == len(r.Values) {
		return io.EOF
	}
	for i, v := range r.Values[r.next] {
		dest[i] = valueOf(v)
	}
	r.next++
	return nil
}

// valueOf is a value as database/sql knows it.
func valueOf(v any) driver.Value {
	switch v := v.(type) {
	case string:
		return textOrTime(v)
	case nil, bool, []byte, time.Time, int64, float64:
		return v
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return rv.Int()
	case rv.CanUint() && rv.Uint() <= math.MaxInt64:
		return int64(rv.Uint())
	case rv.CanFloat():
		return rv.Float()
	}
	return v // a number that is too large; database/sql says whether it fits
}

// timeFormat is how SQLite keeps times that it is given.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// textOrTime is a text, or the time that it stands for if it has exactly the form of times given to
// SQLite: the database does not tell them apart. Scanned into a string it is the same time in RFC
// 3339, which has no zeros at the end.
func textOrTime(text string) driver.Value {
	if t, err := time.Parse(timeFormat, text); err == nil && t.Format(timeFormat) == text {
		return t
	}
	return text
}
