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
// small amount of work is done. So a function gets a check at its entry unless it
// is small and makes no calls, or passes a loop head on every way to its first
// call, as most functions compiled by Go do; and instructions that work on whole
// ranges get a check of their own when the range is long. The check is an empty
// loop, which changes no label depths. See code.go.
//
// Bounding tables. The engine keeps tables on the host's heap and grows them up
// to their own maximum, or to a gigabyte. So every table gets a maximum.

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
			if content, err = checkCode(l, content); err != nil {
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
