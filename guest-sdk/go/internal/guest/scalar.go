package guest

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Many steps take or return a number, a text or a yes and no. For these the functions of this file
// produce the bytes of abi's codec without reflection, and leave unknown types to it. A test
// compares the two.

// maxScalar bounds the texts that are encoded here, in bytes: longer ones are held against [abi.MaxPayload] elsewhere.
const maxScalar = 64 << 10

// AppendScalar appends the canonical form of v, if it is a value of a plain type.
func AppendScalar(out []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case int64:
		return appendInt(out, v), true
	case int:
		return appendInt(out, int64(v)), true
	case int32:
		return appendInt(out, int64(v)), true
	case uint32:
		return appendInt(out, int64(v)), true
	case uint64:
		if v <= math.MaxInt64 {
			return appendInt(out, int64(v)), true
		}
	case float64:
		if v == v { // a NaN has many forms
			return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(v)), true
		}
	case string:
		if len(v) <= maxScalar {
			return appendString(out, v), true
		}
	case bool:
		if v {
			return append(out, 0xc3), true
		}
		return append(out, 0xc2), true
	}
	return out, false
}

// DecodeScalar decodes data into v, if v points to a plain type and data is a value of just this type.
func DecodeScalar(data []byte, v any) bool {
	switch v := v.(type) {
	case *int64:
		n, ok := decodeInt(data)
		if ok {
			*v = n
		}
		return ok
	case *int:
		n, ok := decodeInt(data)
		if ok = ok && int64(int(n)) == n; ok {
			*v = int(n)
		}
		return ok
	case *int32:
		n, ok := decodeInt(data)
		if ok = ok && int64(int32(n)) == n; ok {
			*v = int32(n)
		}
		return ok
	case *uint32:
		n, ok := decodeInt(data)
		if ok = ok && int64(uint32(n)) == n; ok {
			*v = uint32(n)
		}
		return ok
	case *uint64:
		n, ok := decodeInt(data)
		if ok = ok && n >= 0; ok {
			*v = uint64(n)
		}
		return ok
	case *float64:
		if len(data) != 9 || data[0] != 0xcb {
			return false
		}
		*v = math.Float64frombits(binary.BigEndian.Uint64(data[1:]))
		return true
	case *string:
		return decodeText(data, v)
	case *bool:
		if len(data) != 1 || data[0]&0xfe != 0xc2 {
			return false
		}
		*v = data[0] == 0xc3
		return true
	}
	return false
}

// decodeInt reads an integer that fits into an int64, and nothing behind it.
func decodeInt(data []byte) (int64, bool) {
	if len(data) == 0 {
		return 0, false
	}
	h := data[0]
	if h <= 0x7f || h >= 0xe0 {
		return int64(int8(h)), len(data) == 1
	}
	if h < 0xcc || h > 0xd3 || len(data) != 1+1<<((h-0xcc)&3) {
		return 0, false
	}
	d := wireReader{data: data}
	n := d.int()
	return n, h != 0xcf || n >= 0
}

// decodeText reads a string, and nothing behind it.
func decodeText(data []byte, v *string) bool {
	if len(data) == 0 || data[0] == 0xc0 {
		return false
	}
	d := wireReader{data: data}
	text := d.text()
	if d.end() != nil {
		return false
	}
	*v = strings.Clone(text)
	return true
}

// IsNil tells whether data is a nil.
func IsNil(data []byte) bool { return len(data) == 1 && data[0] == abi.Nil[0] }
