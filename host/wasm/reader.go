package wasm

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// sectionReader reads the primitives of the binary format. The first failure
// sticks, and everything read after it is zero.
type sectionReader struct {
	data []byte
	pos  int
	err  error
}

func (r *sectionReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.pos = len(r.data)
}

func (r *sectionReader) byte() byte {
	if r.pos >= len(r.data) {
		r.fail("it ends too early")
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *sectionReader) u32() uint32 {
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

func (r *sectionReader) bytes(n uint32) []byte {
	if int64(n) > int64(len(r.data)-r.pos) {
		r.fail("it ends too early")
		return nil
	}
	b := r.data[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *sectionReader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail("a name is not UTF-8")
		return ""
	}
	return string(b)
}

func (r *sectionReader) functionType() signature {
	if form := r.byte(); form != 0x60 {
		r.fail("a type of form %#x is not a function type", form)
		return signature{}
	}
	return signature{params: r.valueTypes(), results: r.valueTypes()}
}

func (r *sectionReader) valueTypes() string {
	types := r.bytes(r.u32())
	for _, t := range types {
		if !isValueType(t) {
			r.fail("unknown value type %#x", t)
			return ""
		}
	}
	return string(types)
}

func (r *sectionReader) valueType() byte {
	t := r.byte()
	if r.err == nil && !isValueType(t) {
		r.fail("unknown value type %#x", t)
	}
	return t
}

// isValueType knows the types of Wasm 2.0: i32, i64, f32, f64, v128, funcref and
// externref. They are one byte each.
func isValueType(t byte) bool { return t >= 0x7b && t <= 0x7f || t == 0x70 || t == 0x6f }

func (r *sectionReader) importEntry() importEntry {
	e := importEntry{module: r.name(), name: r.name(), kind: r.byte()}
	switch e.kind {
	case externFunction:
		e.typeIndex = r.u32()
	case externTable:
		r.valueType()
		r.limits()
	case externMemory:
		r.limits()
	case externGlobal:
		r.valueType()
		r.byte()
	default:
		r.fail("an import of unknown kind %d", e.kind)
	}
	return e
}

func (r *sectionReader) limits() limits {
	switch flag := r.byte(); flag {
	case 0:
		return limits{min: r.u32()}
	case 1:
		return limits{min: r.u32(), max: r.u32(), hasMax: true}
	default:
		r.fail("limits of unknown form %#x", flag)
		return limits{}
	}
}

// locals skips the declarations of a function's locals and counts them.
func (r *sectionReader) locals() (total uint64) {
	for groups := r.u32(); groups > 0 && r.err == nil; groups-- {
		total += uint64(r.u32())
		r.valueType()
		if total > maxLocals {
			r.fail("a function has more than %d locals", maxLocals)
		}
	}
	return total
}

// expression skips a constant expression.
func (r *sectionReader) expression() {
	const end = 0x0b
	for r.err == nil {
		op := r.byte()
		if op == end {
			return
		}
		if !r.skipImmediates(op) {
			r.fail("a constant expression has the instruction %#x", op)
		}
	}
}

// elementSegment skips an element segment of at most this many entries and
// returns how many it has. The bits of its flags tell its form.
func (r *sectionReader) elementSegment(most uint32) uint32 {
	const passive, indexed, expressions = 1, 2, 4
	flags := r.u32()
	if flags > 7 {
		r.fail("an element segment of unknown form %#x", flags)
		return 0
	}
	if flags&passive == 0 {
		if flags&indexed != 0 {
			r.u32()
		}
		r.expression()
	}
	if flags&(passive|indexed) != 0 {
		r.byte() // kind or type of the elements
	}
	count := r.u32()
	if count > most {
		r.fail("the element segments have more than %d entries", maxElements)
		return 0
	}
	for left := count; left > 0 && r.err == nil; left-- {
		if flags&expressions != 0 {
			r.expression()
		} else {
			r.u32()
		}
	}
	return count
}

// dataSegment skips a data segment.
func (r *sectionReader) dataSegment() {
	switch form := r.u32(); form {
	case 0:
		r.expression()
	case 1:
	case 2:
		r.u32()
		r.expression()
	default:
		r.fail("a data segment of unknown form %#x", form)
		return
	}
	r.bytes(r.u32())
}

// s32 reads a signed LEB128 number of at most 32 bits; false if it has more.
func (r *sectionReader) s32() (int32, bool) {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			v = v << (64 - shift - 7) >> (64 - shift - 7)
			return int32(v), v == int64(int32(v))
		}
	}
	return 0, false
}

// skipImmediates skips the operands of an instruction that does not transfer
// control; false means that it is not known.
func (r *sectionReader) skipImmediates(op byte) bool {
	switch {
	case op == 0x01, op == 0x05, op == 0x0b, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
	case op == 0x1c: // select with types
		r.bytes(r.u32())
	case op >= 0x20 && op <= 0x26, op == 0xd2: // variables, tables, ref.func
		r.u32()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.u32()
		r.u32()
	case op == 0x3f, op == 0x40, op == 0xd0: // memory.size, memory.grow, ref.null
		r.byte()
	case op == 0x41, op == 0x42: // i32.const, i64.const
		r.signed()
	case op == 0x43: // f32.const
		r.bytes(4)
	case op == 0x44: // f64.const
		r.bytes(8)
	case op == 0xfc:
		return r.skipMisc(r.u32())
	case op == 0xfd:
		return r.skipVector(r.u32())
	default:
		return false
	}
	return true
}

// skipMisc skips the operands of saturating conversions, bulk memory and table
// instructions.
func (r *sectionReader) skipMisc(op uint32) bool {
	switch {
	case op <= 7:
	case op == 9, op == 11, op == 13, op >= 15 && op <= 17:
		r.u32()
	case op == 8, op == 10, op == 12, op == 14:
		r.u32()
		r.u32()
	default:
		return false
	}
	return true
}

// skipVector skips the operands of vector instructions.
func (r *sectionReader) skipVector(op uint32) bool {
	switch {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.u32()
		r.u32()
	case op == 12, op == 13: // v128.const, shuffle
		r.bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of one lane
		r.u32()
		r.u32()
		r.byte()
	case op > 255:
		return false
	}
	return true
}

// signed skips a signed LEB128 number.
func (r *sectionReader) signed() {
	for range 10 {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.fail("a number has more than 64 bits")
}
