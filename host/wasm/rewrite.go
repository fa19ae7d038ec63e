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

// What the engine spends on compiling a function grows faster than its size.
const (
	maxFunctionSize = 4 << 20
	maxLocals       = 50_000
)

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
		case sectionCustom:
			if content = functionNames(content); content == nil {
				continue
			}
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

// functionNames returns a custom section with the names of the functions, which
// are shown in backtraces, and nothing else; nil if the section has none. Debug
// information and whatever else is in such sections never reaches the engine.
func functionNames(content []byte) []byte {
	const section, subsection = "name", 1
	r := &sectionReader{data: content}
	if r.name() != section {
		return nil
	}
	for r.pos < len(r.data) && r.err == nil {
		id := r.byte()
		names := r.bytes(r.u32())
		if id != subsection || r.err != nil {
			continue
		}
		n := &sectionReader{data: names}
		count := n.u32()
		for left := count; left > 0 && n.err == nil; left-- {
			n.u32()
			n.name()
		}
		if n.err != nil || n.pos != len(names) || count > maxEntries[sectionFunction] {
			return nil
		}
		out := append([]byte{byte(len(section))}, section...)
		out = binary.AppendUvarint(append(out, subsection), uint64(len(names)))
		return append(out, names...)
	}
	return nil
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
		if len(body) > maxFunctionSize {
			return nil, fmt.Errorf("a function has %d bytes, and %d are allowed", len(body), maxFunctionSize)
		}
		b := &sectionReader{data: body}
		b.locals()
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
			r.signed()
		case op == 0x02: // block
			r.signed()
		case op == 0x04: // if
			straight = false
			r.signed()
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
