package wasm

import (
	"encoding/binary"
	"fmt"
)

// Hardening. Two things that a guest can do are out of the engine's reach, so
// the binary is changed before the engine compiles it. Both changes are invisible
// to the guest, and so is a third that only saves time (segments.go).
//
// Stopping a guest. The engine looks whether a call is to be stopped at every
// loop head, and nowhere else. Code that only recurses, like a naive Fibonacci,
// has no loop: it cannot be stopped, and since native code cannot be preempted
// either, the next garbage collection of the host waits for it. Checking at every
// function entry would be enough, but each check leaves native code, and small
// functions are many. The invariant we need is weaker: between two checks only a
// bounded number of instructions is executed. A function without calls and loops
// is bounded by its size, and so is the way from a function's entry to its first
// call. So a function gets a check at its entry unless it makes no calls, or
// passes a loop head on every way to its first call, as most functions compiled
// by Go do. The check is an empty loop, which changes no label depths.
//
// Bounding tables. The engine keeps tables on the host's heap and grows them up
// to their own maximum, or to a gigabyte. So every table gets a maximum.

// emptyLoop is "loop end" with no parameters and no results.
var emptyLoop = []byte{0x03, 0x40, 0x0b}

// harden rewrites a module whose layout was read.
func harden(l *layout) ([]byte, error) {
	size := len(wasmHeader)
	for _, s := range l.sections {
		size += len(s.content) + 6
	}
	out := make([]byte, 0, size+size/16)
	out = append(out, wasmHeader...)
	for _, s := range l.sections {
		content := s.content
		switch s.id {
		case sectionTable:
			content = boundTables(l.tables)
		case sectionCode:
			var err error
			if content, err = checkEntries(content); err != nil {
				return nil, fmt.Errorf("section %d: %w", s.id, err)
			}
		case sectionData:
			content = mergeSegments(l, content)
		}
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out, nil
}

func boundTables(tables []table) []byte {
	out := binary.AppendUvarint(nil, uint64(len(tables)))
	for _, t := range tables {
		top := uint32(maxTableEntries)
		if t.hasMax {
			top = min(top, t.max)
		}
		out = append(out, t.elem, 1)
		out = binary.AppendUvarint(out, uint64(t.min))
		out = binary.AppendUvarint(out, uint64(top))
	}
	return out
}

func checkEntries(content []byte) ([]byte, error) {
	r := &sectionReader{data: content}
	n := r.u32()
	out := make([]byte, 0, len(content)+len(content)/16)
	out = binary.AppendUvarint(out, uint64(n))
	for ; n > 0 && r.err == nil; n-- {
		body := r.bytes(r.u32())
		b := &sectionReader{data: body}
		for groups := b.u32(); groups > 0 && b.err == nil; groups-- {
			b.u32()
			b.byte()
		}
		if b.err != nil {
			return nil, b.err
		}
		locals := b.pos
		if !needsCheck(b) {
			out = binary.AppendUvarint(out, uint64(len(body)))
			out = append(out, body...)
			continue
		}
		out = binary.AppendUvarint(out, uint64(len(body)+len(emptyLoop)))
		out = append(out, body[:locals]...)
		out = append(out, emptyLoop...)
		out = append(out, body[locals:]...)
	}
	if r.err == nil && r.pos != len(r.data) {
		r.fail("%d bytes behind its last entry", len(r.data)-r.pos)
	}
	return out, r.err
}

// needsCheck scans the instructions of a function up to the first that decides.
// It need not be right about malformed code, which the engine refuses, and says
// yes to all that it does not know.
func needsCheck(r *sectionReader) bool {
	// straight says that every way through the function leads to here.
	straight := true
	for r.pos < len(r.data) && r.err == nil {
		switch op := r.byte(); {
		case op == 0x03: // loop
			if straight {
				return false
			}
			r.s33()
		case op == 0x02: // block
			r.s33()
		case op == 0x04: // if
			straight = false
			r.s33()
		case op == 0x00, op == 0x0f: // unreachable, return
			straight = false
		case op == 0x0c, op == 0x0d: // br, br_if
			straight = false
			r.u32()
		case op == 0x0e: // br_table
			straight = false
			for n := r.u32(); n > 0 && r.err == nil; n-- {
				r.u32()
			}
			r.u32()
		case op == 0x10, op == 0x11: // call, call_indirect
			return true
		default:
			if !r.skipImmediates(op) {
				return true
			}
		}
	}
	return r.err != nil
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

// s33 skips a block type.
func (r *sectionReader) s33() { r.signed() }

// signed skips a signed LEB128 number.
func (r *sectionReader) signed() {
	for range 10 {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.fail("a number has more than 64 bits")
}
