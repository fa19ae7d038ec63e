package binary

// Instructions that work on ranges can do any amount of work. A range of memory that is not known to be small is handed
// to a function of ours, which works on it in pieces and pays for each. A range of a table is short, as tables are
// bounded: it is paid for and left as it is.
const (
	// maxPlainRange is the longest range, in bytes, that the instruction itself works on if the code says how long it
	// is.
	maxPlainRange = 4 << 10
	// maxShortRange is the longest that is worked on where it stands, for costRange.
	maxShortRange = 1 << 10
	// rangePiece is worked on at once.
	rangePiece = 32 << 10
)

// plainLength is how much an instruction works on at most that is left as it is: its length is a small constant, or its
// segment is small.
func (h *helpers) plainLength(in *instruction, length int32) (uint64, bool) {
	switch {
	case length >= 0 && length <= maxPlainRange:
		return uint64(length), true
	case in.sub == miscMemoryInit && h.segment(in.index) <= rangePiece:
		return uint64(h.segment(in.index)), true
	}
	return 0, false
}

// segment is the length of a data segment.
func (h *helpers) segment(index uint32) uint32 {
	if int64(index) < int64(len(h.segments)) {
		return h.segments[index]
	}
	return 0
}

// cost returns the cost of an instruction for its range, charged where it stands: a helper charges
// the rest.
func (h *helpers) cost(in *instruction, length int32) uint64 {
	if in.op != opMisc {
		return 0
	}
	switch in.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		if plain, ok := h.plainLength(in, length); ok {
			return costCall + plain/bytesPerUnit
		}
		return costRange
	case miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		return 2 * costCall
	}
	return 0
}

// helpers are the functions that are added to a module.
type helpers struct {
	fuel     fuelIndexes
	first    uint32 // the number of the first of them
	segments []uint32
	needed   []helper
	numbers  map[helper]uint64
	onDemand *onDemand // nil if no table is filled on demand
	fill     []byte    // the call that fills an entry of it
}

// helper is a helper function: for an instruction on a range of memory, with its segment, for
// ranges of tables, or for entries of an on-demand table, with its chunk.
type helper struct{ op, segment uint32 }

// The helpers that are for no single instruction. No instruction that has a helper has these
// numbers.
const (
	helperOfTables = iota
	helperOfEntries
	helperOfChunk
)

func newHelpers(m *Module, fuel fuelIndexes) *helpers {
	return &helpers{
		fuel:     fuel,
		first:    fuel.imported + 1 + uint32(len(m.functions)),
		segments: m.segments,
		numbers:  map[helper]uint64{},
	}
}

// call is the instruction that calls a helper.
func (h *helpers) call(which helper) []byte {
	number, ok := h.numbers[which]
	if !ok {
		number = uint64(h.first) + uint64(len(h.needed))
		h.needed = append(h.needed, which)
		h.numbers[which] = number
	}
	return appendU32([]byte{opCall}, number)
}

// replace plans the change of an instruction behind the prefix 0xfc, if there is one.
func (h *helpers) replace(in *instruction, length int32) (edit, bool) {
	switch in.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		if _, ok := h.plainLength(in, length); ok {
			return edit{}, false
		}
		which := helper{op: in.sub}
		if in.sub == miscMemoryInit {
			which.segment = in.index
		}
		return edit{at: in.at, end: in.end, replace: h.call(which), long: &which}, true
	case miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		return edit{at: in.at, end: in.at, replace: h.call(helper{op: helperOfTables})}, true
	}
	return edit{}, false
}

// appendShortOrLong appends the instruction for short ranges, and the call for long ones. Most ranges are short, and a
// call costs as much as they do. Local keeps the length.
func (h *helpers) appendShortOrLong(out []byte, e *edit, local uint64) []byte {
	out = appendU32(append(out, opLocalTee), local)
	out = appendS32(append(out, opI32Const), maxShortRange)
	out = append(out, opI32GtU, opIf)
	out = appendS64(out, int64(h.fuel.types)+typePair)
	out = appendU32(append(out, opLocalGet), local)
	out = append(append(out, e.replace...), opElse)
	out = appendU32(append(out, opLocalGet), local)
	return append(e.long.appendInstruction(out), opEnd)
}

// types are the types of the helpers, in their order.
func (h *helpers) types() []uint64 {
	types := make([]uint64, len(h.needed))
	for i, which := range h.needed {
		types[i] = uint64(h.fuel.types) + which.typ()
	}
	return types
}

// typ is the type of a helper among ownTypes.
func (which helper) typ() uint64 {
	switch which.op {
	case helperOfTables:
		return typeCharge
	case helperOfEntries, helperOfChunk:
		return typeEntry
	default:
		return typeRange
	}
}

func (h *helpers) bodies() [][]byte {
	bodies := make([][]byte, len(h.needed))
	for i, which := range h.needed {
		switch which.op {
		case helperOfTables:
			bodies[i] = h.bodyOfTables()
		case helperOfEntries:
			bodies[i] = h.bodyOfEntries()
		case helperOfChunk:
			bodies[i] = h.bodyOfChunk(which.segment)
		default:
			bodies[i] = h.bodyOfMemory(which)
		}
	}
	return bodies
}

// bodyOfTables pays for a range of a table, whose length it is given and returns. More than the longest table does not
// happen, and need not be paid.
func (h *helpers) bodyOfTables() []byte {
	out := appendU32([]byte{0, opGlobalGet}, uint64(h.fuel.global))
	most := appendS32([]byte{opI32Const}, maxTableEntries)
	out = append(append(out, opLocalGet, 0), most...)
	out = append(append(out, opLocalGet, 0), most...)
	out = append(out, opI32LtU, opSelect, opI64ExtendU, opI64Sub)
	out = appendU32(append(out, opGlobalSet), uint64(h.fuel.global))
	out = h.fuel.appendCheck(out, &region{block: unknownBlock})
	return append(out, opLocalGet, 0, opEnd)
}

// The locals of a helper for memory.
const (
	localTo     = 0
	localFrom   = 1 // or the value to fill with
	localLength = 2
)

// bodyOfMemory works on a range in pieces, from the end that keeps the remainder intact:
//
//	if length > piece && the range is inside of the memory {
//		if it copies upwards { do { length -= piece; copy(to+length, from+length, piece) } while length > piece }
//		else { do { copy(to, from, piece); to += piece; from += piece; length -= piece } while length > piece }
//	}
//	copy(to, from, length)
//
// A range that is not inside traps before anything of it is written: at the last line.
func (h *helpers) bodyOfMemory(which helper) []byte {
	out := append([]byte{0}, opLocalGet, localLength)
	out = appendS32(append(out, opI32Const), rangePiece)
	out = append(out, opI32GtU, opIf, noBlockType)
	out = h.appendInside(out, which)
	out = append(out, opIf, noBlockType)
	if which.op == miscMemoryCopy {
		out = append(
			out, opLocalGet, localTo, opLocalGet, localFrom, opI32Sub, opLocalGet, localLength, opI32LtU, opIf,
			noBlockType,
		)
		out = h.appendPieces(out, which, true)
		out = append(out, opElse)
		out = h.appendPieces(out, which, false)
		out = append(out, opEnd)
	} else {
		out = h.appendPieces(out, which, false)
	}
	out = append(out, opEnd, opEnd)
	out = h.appendPaymentForRest(out)
	out = append(out, opLocalGet, localTo, opLocalGet, localFrom, opLocalGet, localLength)
	out = which.appendInstruction(out)
	return append(out, opEnd)
}

// appendInside tells whether a range is inside of the memory, and of its segment.
func (h *helpers) appendInside(out []byte, which helper) []byte {
	end := func(start byte) {
		out = append(out, opLocalGet, start, opI64ExtendU, opLocalGet, localLength, opI64ExtendU, opI64Add)
	}
	insideMemory := func(start byte) {
		end(start)
		out = append(out, opMemorySize, 0, opI64ExtendU, opI64Const, 16, opI64Shl, opI64LeU)
	}
	insideMemory(localTo)
	switch which.op {
	case miscMemoryCopy:
		insideMemory(localFrom)
		out = append(out, opI32And)
	case miscMemoryInit:
		end(localFrom)
		out = appendS64(append(out, opI64Const), int64(h.segment(which.segment)))
		out = append(out, opI64LeU, opI32And)
	}
	return out
}

// appendPieces works on all pieces but the last. Each is paid for.
func (h *helpers) appendPieces(out []byte, which helper, downwards bool) []byte {
	piece := appendS32([]byte{opI32Const}, rangePiece)
	move := func(local, op byte) {
		out = append(out, opLocalGet, local)
		out = append(append(out, piece...), op, opLocalSet, local)
	}
	out = append(out, opLoop, noBlockType)
	out = h.fuel.appendPayment(out, &region{cost: rangePiece / bytesPerUnit, check: true, block: unknownBlock})
	if downwards {
		move(localLength, opI32Sub)
		out = append(
			out, opLocalGet, localTo, opLocalGet, localLength, opI32Add, opLocalGet, localFrom, opLocalGet, localLength,
			opI32Add,
		)
		out = which.appendInstruction(append(out, piece...))
	} else {
		out = append(out, opLocalGet, localTo, opLocalGet, localFrom)
		out = which.appendInstruction(append(out, piece...))
		move(localTo, opI32Add)
		if which.op != miscMemoryFill {
			move(localFrom, opI32Add)
		}
		move(localLength, opI32Sub)
	}
	out = append(out, opLocalGet, localLength)
	out = append(append(out, piece...), opI32GtU, opBrIf, 0)
	return append(out, opEnd)
}

// appendInstruction is the instruction itself.
func (which helper) appendInstruction(out []byte) []byte {
	out = append(out, opMisc, byte(which.op))
	switch which.op {
	case miscMemoryInit:
		return append(appendU32(out, uint64(which.segment)), 0)
	case miscMemoryCopy:
		return append(out, 0, 0)
	default:
		return append(out, 0)
	}
}

// appendPaymentForRest pays for the remainder after the pieces.
func (h *helpers) appendPaymentForRest(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), uint64(h.fuel.global))
	out = append(out, opLocalGet, localLength, opI64ExtendU, opI64Const, bytesPerUnitLog2, opI64ShrU, opI64Sub)
	out = appendU32(append(out, opGlobalSet), uint64(h.fuel.global))
	return h.fuel.appendCheck(out, &region{block: unknownBlock})
}
