package binary

import "errors"

// # Functions that are put into the table when they are first called
//
// Every function of a Go program is in its table, because any of them may be called through a
// pointer or resumed in the middle. There are thousands, most are never called that way, and the
// engine allots 32 bytes to each in every instance: two thirds of an idle instance's memory, most
// of the time to make one, and as many objects for the host's garbage collector to scan. Besides,
// Go's linker numbers functions from 4096 on and leaves the entries below empty, so that no small
// number is a function.
//
// So the table of a program with many functions begins empty, and with its first function. An indirect call looks at
// its entry before, and if that is empty has it filled by a function of ours, which knows the right entry:
//
//	entry = index - lead
//	if table[entry] == null { fill(entry) }
//	call table[entry]
//
// A guest does not notice. An entry is filled before it is used, and is never changed after that: a
// reset instance keeps its entries. An index below the lead wraps around to beyond the end of the
// table, as far as a table can reach (maxTableEntries), and traps there. The engine has the same
// words for an empty entry and a missing one.
//
// This is only done where it is all that refers to entries: the table is the only one and is
// neither imported nor exported, all segments are active with a constant offset, and no other
// instruction names a table. And it is not done where the code would then take too long to compile:
// an accepted module stays runnable.

const (
	// minOnDemand is how many functions a table has at least to be filled on demand.
	minOnDemand = 512
	// entriesPerChunk is how many entries a function of ours knows. The work of compiling it grows with their square.
	entriesPerChunk = 1 << entriesPerChunkLog2

	entriesPerChunkLog2 = 8
)

// noFunction is an entry that stays empty.
const noFunction = ^uint32(0)

var errNamesTable = errors.New("an instruction names a table")

// onDemand is a table that is filled on demand.
type onDemand struct {
	lead    uint32   // entries before the first function, which are left out
	entries []uint32 // functions of the upload; noFunction where there is none
	named   []uint32 // functions that the segments name: an entry may be overwritten by another
}

// tableOnDemand is how the table of the module, which has this many functions, is filled on
// demand; nil if it is filled when an instance is made.
func (m *Module) tableOnDemand(functions uint64) *onDemand {
	if len(m.tables) != 1 || m.tables[0].elem != typeFuncref || m.elements < minOnDemand {
		return nil
	}
	for _, imp := range m.imports {
		if imp.kind == externTable {
			return nil
		}
	}
	for _, e := range m.exports {
		if e.kind == externTable {
			return nil
		}
	}
	t := m.tables[0]
	if t.min > maxTableEntries || t.hasMax && t.max < t.min {
		return nil // the engine has an error for these
	}
	var found *onDemand
	for _, s := range m.sections {
		switch s.id {
		case sectionCode:
			if !fillableOnDemand(s.content) {
				return nil
			}
		case sectionElement:
			found = readEntries(s.content, t.min, functions)
		}
	}
	return found
}

// fillableOnDemand tells whether indirect calls are all in a code section that refers to tables,
// and whether there are not too many of them: each becomes a branch.
func fillableOnDemand(code []byte) bool {
	bodies, err := readBodies(code)
	if err != nil {
		return false
	}
	var squares uint64 // sum over the functions: see compileCost
	for _, body := range bodies {
		calls := uint64(0)
		err := eachInstruction(body, func(in *instruction) error {
			if in.op == opCallIndirect {
				calls++
			}
			return refuseTables(in)
		})
		squares += calls * calls
		if err != nil || calls > maxBranches || squares > maxBranching+branchingPerByte*uint64(len(code)) {
			return false
		}
	}
	return true
}

// refuseTables fails for an instruction other than an indirect call that names a table.
func refuseTables(in *instruction) error {
	switch in.op {
	case opTableGet, opTableSet:
		return errNamesTable
	case opMisc:
		if in.sub >= miscTableInit && in.sub <= miscTableFill {
			return errNamesTable
		}
	}
	return nil
}

// readEntries reads an element section for a table of this size, in a module with this many
// functions; nil if something in it is not plain, or wrong.
func readEntries(content []byte, size uint32, functions uint64) *onDemand {
	var named []uint32
	all := make([]uint32, size)
	for i := range all {
		all[i] = noFunction
	}
	first, last := size, uint32(0)
	r := &reader{data: content}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		const activeOfTableZero = 0
		if r.u32() != activeOfTableZero || r.byte() != opI32Const {
			return nil
		}
		offset, ok := r.s32()
		if !ok || r.byte() != opEnd {
			return nil
		}
		at, count := uint32(offset), r.u32()
		if at > size || count > size-at {
			return nil
		}
		for end := at + count; at < end && r.err == nil; at++ {
			function := r.u32()
			if uint64(function) >= functions {
				return nil
			}
			named = append(named, function)
			all[at] = function // of two for one entry the later one counts
			first, last = min(first, at), max(last, at+1)
		}
	}
	if r.err != nil || first >= last {
		return nil
	}
	return &onDemand{lead: first, entries: all[first:last], named: named}
}

// ownTables returns the tables of the module, the on-demand one without its lead.
func (w *rewriter) ownTables() []table {
	if w.onDemand == nil {
		return w.tables
	}
	t := w.tables[0]
	t.min -= w.onDemand.lead
	if t.hasMax {
		t.max -= w.onDemand.lead
	}
	return []table{t}
}

// declareElements returns an element section that fills nothing. Functions must be in one to be referred to.
func (w *rewriter) declareElements() []byte {
	const declared, functions = 3, 0
	out := appendU32([]byte{1, declared, functions}, uint64(len(w.onDemand.named)))
	for _, function := range w.onDemand.named {
		out = appendU32(out, w.shift(function))
	}
	return out
}

// needEntries adds functions to the module that fill the entries of a table: one for each chunk,
// and one to find the chunk.
func (h *helpers) needEntries(t *onDemand) {
	h.onDemand = t
	h.fill = h.call(helper{op: helperOfEntries})
	for chunk := range t.chunks() {
		h.call(helper{op: helperOfChunk, segment: chunk})
	}
}

func (t *onDemand) chunks() uint32 {
	return uint32((len(t.entries) + entriesPerChunk - 1) / entriesPerChunk)
}

// appendEntry appends the code before an indirect call. Local keeps the entry.
func (h *helpers) appendEntry(out []byte, local uint64) []byte {
	if h.onDemand.lead > 0 {
		out = append(appendS32(append(out, opI32Const), int32(h.onDemand.lead)), opI32Sub)
	}
	out = appendU32(append(out, opLocalTee), local)
	out = append(out, opTableGet, 0, opRefIsNull, opIf, noBlockType)
	out = appendU32(append(out, opLocalGet), local)
	out = append(append(out, h.fill...), opEnd)
	return appendU32(append(out, opLocalGet), local)
}

// bodyOfEntries calls the function for the chunk that an entry is in. There may be none: a table can be longer than its
// segments.
func (h *helpers) bodyOfEntries() []byte {
	chunks := h.onDemand.chunks()
	out := appendSwitch(
		[]byte{0}, chunks, noBlockType, []byte{opLocalGet, 0, opI32Const, entriesPerChunkLog2, opI32ShrU},
	)
	for chunk := range chunks {
		out = append(out, opLocalGet, 0)
		out = append(append(out, h.call(helper{op: helperOfChunk, segment: chunk})...), opReturn, opEnd)
	}
	return append(out, opEnd, opEnd)
}

// bodyOfChunk fills an entry.
func (h *helpers) bodyOfChunk(chunk uint32) []byte {
	entries := h.onDemand.entries[chunk*entriesPerChunk:]
	entries = entries[:min(len(entries), entriesPerChunk)]
	out := []byte{0, opLocalGet, 0}
	place := append(appendS32([]byte{opLocalGet, 0, opI32Const}, entriesPerChunk-1), opI32And)
	out = appendSwitch(out, uint32(len(entries)), typeFuncref, place)
	for i, function := range entries {
		if function == noFunction {
			out = append(out, opRefNull, typeFuncref)
		} else {
			out = appendU32(append(out, opRefFunc), h.fuel.shift(function))
		}
		out = append(appendU32(append(out, opBr), uint64(len(entries)-i)), opEnd)
	}
	return append(out, opRefNull, typeFuncref, opEnd, opTableSet, 0, opEnd)
}

// appendSwitch begins a block with this result and in it one for each of so many cases, the first
// innermost, and one for the default. It branches to their ends by a value, and closes the first:
// the first case comes next, and every end begins another.
func appendSwitch(out []byte, cases uint32, result byte, value []byte) []byte {
	out = append(out, opBlock, result)
	for range cases + 1 {
		out = append(out, opBlock, noBlockType)
	}
	out = appendU32(append(append(out, value...), opBrTable), uint64(cases))
	for label := range cases + 1 {
		out = appendU32(out, uint64(label))
	}
	return append(out, opEnd)
}
