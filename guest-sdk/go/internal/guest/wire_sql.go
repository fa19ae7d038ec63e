package guest

import (
	"math"
	"strings"

	"github.com/cruster/cruster/abi"
)

// EncodeSQL encodes a statement and its arguments, by hand as [EncodeBody] does: by abi's codec it costs an activity
// more than all else that the SDK does for it. Arguments that are not plain go through abi's codec, all of them.
func EncodeSQL(query string, args []any) ([]byte, error) {
	encoded, plain := appendPlain(make([]byte, 0, 16*(1+len(args))), args)
	if !plain {
		var err error
		if encoded, err = Encode("the arguments of the statement", args); err != nil {
			return nil, err
		}
	}
	out := append(make([]byte, 0, 24+len(encoded)+len(query)), "\x82\xa4args"...)
	return appendString(append(appendBytes(out, encoded), "\xa5query"...), query), nil
}

// appendPlain appends arguments in canonical form, if all of them are plain and not long.
func appendPlain(out []byte, args []any) ([]byte, bool) {
	out = appendArray(out, len(args))
	for _, arg := range args {
		plain := true
		switch v := arg.(type) {
		case nil:
			out = append(out, abi.Nil...)
		case []byte:
			if plain = v != nil && len(v) <= maxScalar; plain {
				out = appendBytes(out, v)
			}
		default:
			out, plain = AppendScalar(out, arg)
		}
		if !plain || len(out) > maxScalar {
			return nil, false
		}
	}
	return out, true
}

// DecodeExecReply decodes the answer to a statement.
func DecodeExecReply(data []byte) (r abi.ExecReply, err error) {
	d := wireReader{data: data}
	for n := d.fields(); n > 0 && d.err == nil; n-- {
		switch d.text() {
		case "rows_affected":
			r.RowsAffected = d.int()
		default:
			d.skip(0)
		}
	}
	return r, d.end()
}

// DecodeQueryReply decodes the rows of a query. Values are as abi's codec decodes them.
func DecodeQueryReply(data []byte) (r abi.QueryReply, err error) {
	d := wireReader{data: data}
	for n := d.fields(); n > 0 && d.err == nil; n-- {
		switch d.text() {
		case "columns":
			if !d.null() {
				r.Columns = make([]string, d.array())
				for i := range r.Columns {
					r.Columns[i] = strings.Clone(d.text())
				}
			}
		case "rows":
			if !d.null() {
				r.Rows = make([][]any, d.array())
				for i := range r.Rows {
					r.Rows[i] = d.row()
				}
			}
		default:
			d.skip(0)
		}
	}
	return r, d.end()
}

func (d *wireReader) row() []any {
	if d.null() {
		return nil
	}
	row := make([]any, d.array())
	for i := range row {
		row[i] = d.value()
	}
	return row
}

// value reads a value of any kind. Numbers are of the type that they are written as.
func (d *wireReader) value() any {
	if d.at >= len(d.data) {
		d.fail("it ends early")
		return nil
	}
	start, h := d.at, d.data[d.at]
	switch {
	case h <= 0x7f || h >= 0xe0:
		d.at++
		return int8(h)
	case h >= 0xa0 && h <= 0xbf, h >= 0xd9 && h <= 0xdb:
		return strings.Clone(d.text())
	case h >= 0xc4 && h <= 0xc6:
		return append([]byte{}, d.bytes()...)
	}
	d.at++
	switch h {
	case 0xc0:
		return nil
	case 0xc2:
		return false
	case 0xc3:
		return true
	case 0xcb:
		return math.Float64frombits(d.number(8))
	case 0xd3:
		return int64(d.number(8))
	}
	d.at = start
	return d.rare()
}

// rare reads a value by abi's codec.
func (d *wireReader) rare() (v any) {
	start := d.at
	d.skip(0)
	if err := abi.Unmarshal(d.data[start:d.at], &v); err != nil && d.err == nil {
		d.err = err
	}
	return v
}
