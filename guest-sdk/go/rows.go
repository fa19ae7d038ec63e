package cruster

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// scanFunc fills one value from one row.
//
// Databases return different types for the same column: SQLite has no booleans and no times, Postgres returns sums of
// integers as numeric text. The conversions in this file accept each of these forms, and refuse a value that does not
// fit without loss.
type scanFunc func(dst reflect.Value, row []any) error

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

// newScanner decides once how the rows of a query go into values of type t.
func newScanner(t reflect.Type, columns []string) (scanFunc, error) {
	switch {
	case t == reflect.TypeFor[[]any]():
		return func(dst reflect.Value, row []any) error {
			dst.Set(reflect.ValueOf(row))
			return nil
		}, nil
	case t == reflect.TypeFor[map[string]any]():
		return func(dst reflect.Value, row []any) error {
			m := make(map[string]any, len(columns))
			for i, c := range columns {
				m[c] = row[i]
			}
			dst.Set(reflect.ValueOf(m))
			return nil
		}, nil
	case t.Kind() == reflect.Struct && t != timeType:
		return structScanner(t, columns)
	}
	if len(columns) != 1 {
		return nil, fmt.Errorf(
			"a row of %d columns does not fit %s: select one column or use a struct", len(columns), t,
		)
	}
	return func(dst reflect.Value, row []any) error { return assign(dst, row[0], columns[0]) }, nil
}

func structScanner(t reflect.Type, columns []string) (scanFunc, error) {
	fields := columnFields(t)
	index := make([][]int, len(columns))
	for i, column := range columns {
		f := fieldFor(fields, column)
		if f == nil {
			return nil, fmt.Errorf("column %q has no field in %s: name one with the tag db:%q", column, t, column)
		}
		index[i], f.filled = f.Index, true
	}
	for _, f := range fields {
		if !f.filled && !f.optional {
			return nil, fmt.Errorf(
				`field %s of %s has no column among %q: select it, or tag the field db:",optional", or db:"-" if it never has one`,
				f.Name, t, columns,
			)
		}
	}
	return func(dst reflect.Value, row []any) error {
		for i, path := range index {
			if err := assign(dst.FieldByIndex(path), row[i], columns[i]); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// columnField is a field of a struct that columns go to.
type columnField struct {
	reflect.StructField
	column   string // as its db tag says
	optional bool   // a query may lack it
	filled   bool   // the query has it
}

// columnFields lists the fields of a struct that a column can go to. The tag db:"-" takes one out. A field that is not
// on the wire is often no column either: without a db tag it needs none.
func columnFields(t reflect.Type) []*columnField {
	var fields []*columnField
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("db")
		column, options, _ := strings.Cut(tag, ",")
		if f.IsExported() && !f.Anonymous && throughStructs(t, f.Index) && column != "-" {
			fields = append(fields, &columnField{
				StructField: f, column: column, optional: options == "optional" || !tagged && guest.FieldName(f) == "",
			})
		}
	}
	return fields
}

// fieldFor finds the field of a column: by its db tag first, then by its name on the wire, then by its Go name. It is
// nil if there is none.
func fieldFor(fields []*columnField, column string) *columnField {
	matches := []func(*columnField) bool{
		func(f *columnField) bool { return f.column == column },
		func(f *columnField) bool { return guest.FieldName(f.StructField) == column },
		func(f *columnField) bool { return strings.EqualFold(f.Name, column) },
	}
	for _, match := range matches {
		if i := slices.IndexFunc(fields, match); i >= 0 {
			return fields[i]
		}
	}
	return nil
}

// throughStructs tells whether a field can be reached without following a pointer, which could be nil.
func throughStructs(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
		if t.Kind() != reflect.Struct {
			return false
		}
	}
	return true
}

// assign converts one value of the database to the type of dst.
func assign(dst reflect.Value, v any, column string) error {
	if v == nil {
		switch dst.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
			dst.SetZero()
			return nil
		}
		return fmt.Errorf("column %q is NULL, which does not fit %s: use a pointer", column, dst.Type())
	}
	if dst.Kind() == reflect.Pointer {
		p := reflect.New(dst.Type().Elem())
		if err := assign(p.Elem(), v, column); err != nil {
			return err
		}
		dst.Set(p)
		return nil
	}
	if !convert(dst, v) {
		return fmt.Errorf("column %q holds %s (%T), which does not fit %s", column, clip(v), v, dst.Type())
	}
	return nil
}

// clip renders the beginning of a value for a message.
func clip(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return s
}

func convert(dst reflect.Value, v any) bool {
	switch {
	case dst.Type() == timeType:
		t, ok := asTime(v)
		if ok {
			dst.Set(reflect.ValueOf(t))
		}
		return ok
	case dst.Type().ConvertibleTo(bytesType) && dst.Kind() == reflect.Slice:
		b, ok := asBytes(v)
		if ok {
			dst.SetBytes(b)
		}
		return ok
	}
	switch dst.Kind() {
	case reflect.Interface:
		rv := reflect.ValueOf(v)
		if !rv.Type().AssignableTo(dst.Type()) {
			return false
		}
		dst.Set(rv)
		return true
	case reflect.Bool:
		return setBool(dst, v)
	case reflect.String:
		b, ok := asBytes(v)
		if ok {
			dst.SetString(string(b))
		}
		return ok
	case reflect.Float32, reflect.Float64:
		f, ok := asFloat(v)
		if ok {
			dst.SetFloat(f)
		}
		return ok
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := asInt(v)
		if ok = ok && !dst.OverflowInt(n); ok {
			dst.SetInt(n)
		}
		return ok
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, ok := asInt(v)
		if ok = ok && n >= 0 && !dst.OverflowUint(uint64(n)); ok {
			dst.SetUint(uint64(n))
		}
		return ok
	}
	return false
}

func setBool(dst reflect.Value, v any) bool {
	if b, ok := v.(bool); ok {
		dst.SetBool(b)
		return true
	}
	n, ok := asInt(v)
	if ok = ok && (n == 0 || n == 1); ok {
		dst.SetBool(n == 1)
	}
	return ok
}

func asInt(v any) (int64, bool) {
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return rv.Int(), true
	case rv.CanUint():
		return int64(rv.Uint()), rv.Uint() <= math.MaxInt64
	case rv.CanFloat():
		f := rv.Float()
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	case rv.Kind() == reflect.String:
		n, err := strconv.ParseInt(rv.String(), 10, 64)
		return n, err == nil
	}
	return 0, false
}

func asFloat(v any) (float64, bool) {
	switch rv := reflect.ValueOf(v); {
	case rv.CanFloat():
		return rv.Float(), true
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	case rv.Kind() == reflect.String:
		f, err := strconv.ParseFloat(rv.String(), 64)
		return f, err == nil
	}
	return 0, false
}

func asBytes(v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		return []byte(v), true
	case []byte:
		return v, true
	}
	return nil, false
}

// timeLayouts are the forms in which SQLite keeps times.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly,
}

func asTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return v, true
	case string:
		for _, layout := range timeLayouts {
			if t, err := time.Parse(layout, v); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}
