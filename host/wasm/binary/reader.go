package binary

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// reader reads the primitives of the binary format. The first failure sticks, and everything read after it is zero.
type reader struct {
	data []byte
	pos  int
	err  error

	// globals is one more than the highest global that a constant expression has named.
	globals uint64
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.pos = len(r.data)
}

func (r *reader) byte() byte {
	if r.pos >= len(r.data) {
		r.fail("it ends too early")
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > math.MaxUint32 {
				break
			}
			return uint32(v)
		}
	}
	r.fail("a number has more than 32 bits")
	return 0
}

func (r *reader) bytes(n uint32) []byte {
	if int64(n) > int64(len(r.data)-r.pos) {
		r.fail("it ends too early")
		return nil
	}
	b := r.data[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *reader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail("a name is not UTF-8")
		return ""
	}
	return string(b)
}

// end fails if bytes are left.
func (r *reader) end() {
	if r.err == nil && r.pos != len(r.data) {
		r.fail("%d bytes behind its last entry", len(r.data)-r.pos)
	}
}

// s32 reads a signed LEB128 number of at most 32 bits; false if it has more.
func (r *reader) s32() (int32, bool) {
	v, ok := r.s35()
	return int32(v), ok && v == int64(int32(v))
}

// s35 reads a signed LEB128 number of at most five bytes; false if it has more.
func (r *reader) s35() (int64, bool) {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			v = v << (64 - shift - 7) >> (64 - shift - 7)
			return v, true
		}
	}
	return 0, false
}

// signed skips a signed LEB128 number.
func (r *reader) signed() {
	for range 10 {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.fail("a number has more than 64 bits")
}
