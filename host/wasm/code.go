package wasm

import (
	"encoding/binary"
	"fmt"
	"math"
)

// What the engine spends on compiling a function grows with the square of its
// branches, and with the product of its branches and locals: a file of a hundred
// kilobytes could keep it busy for hours. The bounds leave room for functions ten
// times as large as the largest of ordinary programs.
const (
	maxFunctionSize = 1 << 20
	maxLocals       = 50_000
	maxBranches     = 10_000
	// Over all functions: the squares of their branches, and their branches
	// times their locals. What is allowed grows with the size of the code, with
	// twice to four times what ordinary programs need.
	maxBranching     = 2 * maxBranches * maxBranches
	branchingPerByte = 40
	maxMerging       = 4_000_000
	mergingPerByte   = 2
)

// How much a function may do unchecked: a caller can call it a hundred thousand
// times in a row, straight.
const (
	maxUncheckedSize   = 1 << 10 // bytes of a function without calls
	maxUncheckedRanges = 4       // instructions in it that work on ranges
	maxUncheckedRange  = 4 << 10 // bytes of memory that one of them works on
)

// Instructions that the scan looks at.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opLocalTee     = 0x22
	opI32Const     = 0x41
	opI32GtU       = 0x4b
	opMisc         = 0xfc

	miscMemoryInit = 8
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableFill  = 17

	noBlockType = 0x40
	typeI32     = 0x7f
)

// emptyLoop is "loop end" with no parameters and no results.
var emptyLoop = []byte{opLoop, noBlockType, opEnd}

// function is what the scan of a function's body found.
type function struct {
	locals   uint64 // that it declares, without its parameters
	code     int    // where the instructions begin
	branches uint64
	ranges   int       // instructions that work on ranges
	guards   []rangeOp // those among them that need a check
	checked  bool      // every way to its first call passes a loop head
	calls    bool      // it makes calls
}

// rangeOp is an instruction that works on a range.
type rangeOp struct {
	at     int // where it stands in the body
	memory bool
}

// checkCode returns the code section with checks where they are needed, and
// refuses functions that would take too long to compile.
func checkCode(l *layout, content []byte) ([]byte, error) {
	r := &sectionReader{data: content}
	n := r.u32()
	out := make([]byte, 0, len(content)+len(content)/16)
	out = binary.AppendUvarint(out, uint64(n))
	var branching, merging uint64
	for i := 0; i < int(n) && r.err == nil; i++ {
		body := r.bytes(r.u32())
		f, err := scanFunction(body)
		if err != nil {
			return nil, err
		}
		branching += f.branches * f.branches
		merging += f.branches * f.locals
		if size := uint64(len(content)); branching > maxBranching+branchingPerByte*size || merging > maxMerging+mergingPerByte*size {
			return nil, fmt.Errorf("its functions branch too much to be compiled")
		}
		if out, err = appendFunction(out, l, i, body, f); err != nil {
			return nil, err
		}
	}
	if r.err == nil && r.pos != len(r.data) {
		r.fail("%d bytes behind its last entry", len(r.data)-r.pos)
	}
	return out, r.err
}

// scanFunction reads the instructions of a function once. It need not be right
// about malformed code, which the engine refuses.
func scanFunction(body []byte) (*function, error) {
	if len(body) > maxFunctionSize {
		return nil, fmt.Errorf("a function has %d bytes, and %d are allowed", len(body), maxFunctionSize)
	}
	r := &sectionReader{data: body}
	f := &function{locals: r.locals()}
	f.code = r.pos
	// straight says that every way through the function leads to here; length is
	// the constant that the instruction before this one put on the stack.
	straight, length := true, int32(math.MaxInt32)
	for r.pos < len(r.data) && r.err == nil {
		at, before := r.pos, length
		length = math.MaxInt32
		switch op := r.byte(); op {
		case opBlock, opLoop:
			f.checked = f.checked || op == opLoop && straight && !f.calls
			f.branches++
			r.signed()
		case opIf:
			straight = false
			f.branches++
			r.signed()
		case opElse:
			f.branches++
		case opUnreachable, opReturn:
			straight = false
		case opBr, opBrIf:
			straight = false
			f.branches++
			r.u32()
		case opBrTable:
			straight = false
			for n := uint64(r.u32()) + 1; n > 0 && r.err == nil; n-- {
				f.branches++
				r.u32()
			}
		case opCall:
			f.calls = true
			r.u32()
		case opCallIndirect:
			f.calls = true
			r.u32()
			r.u32()
		case opI32Const:
			length, _ = r.s32()
		case opMisc:
			f.misc(r, at, before)
		default:
			if !r.skipImmediates(op) {
				r.fail("the instruction %#x is unknown", op)
			}
		}
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case f.branches > maxBranches:
		return nil, fmt.Errorf("a function has %d branches, and %d are allowed", f.branches, maxBranches)
	}
	return f, nil
}

// misc takes note of an instruction behind the prefix 0xfc. Length is that of its
// range if the code says so.
func (f *function) misc(r *sectionReader, at int, length int32) {
	// The engine makes a few branches out of each.
	const branches = 4
	op := r.u32()
	switch op {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		f.ranges++
		f.branches += branches
		if length < 0 || length > maxUncheckedRange {
			f.guards = append(f.guards, rangeOp{at, true})
		}
	case miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		f.ranges++
		f.branches += branches
		f.guards = append(f.guards, rangeOp{at, false})
	}
	if !r.skipMisc(op) {
		r.fail("the instruction 0xfc %d is unknown", op)
	}
}

// needsCheck tells whether the function gets a check at its entry.
func (f *function) needsCheck(size int) bool {
	return !f.checked && (f.calls || size > maxUncheckedSize || f.ranges > maxUncheckedRanges)
}

// appendFunction appends the body of the function with this number, with its
// checks.
func appendFunction(out []byte, l *layout, number int, body []byte, f *function) ([]byte, error) {
	entry := f.needsCheck(len(body))
	if !entry && len(f.guards) == 0 {
		out = binary.AppendUvarint(out, uint64(len(body)))
		return append(out, body...), nil
	}
	hardened := make([]byte, 0, len(body)+32)
	// The length of a range is kept in a local of its own while it is looked at.
	local := f.locals
	if len(f.guards) > 0 {
		if number >= len(l.functions) || int64(l.functions[number]) >= int64(len(l.types)) {
			return nil, fmt.Errorf("function %d has no type", number)
		}
		local += uint64(len(l.types[l.functions[number]].params))
		groups, n := binary.Uvarint(body)
		hardened = binary.AppendUvarint(hardened, groups+1)
		hardened = append(hardened, body[n:f.code]...)
		hardened = append(hardened, 1, typeI32)
	} else {
		hardened = append(hardened, body[:f.code]...)
	}
	if entry {
		hardened = append(hardened, emptyLoop...)
	}
	from := f.code
	for _, g := range f.guards {
		hardened = append(hardened, body[from:g.at]...)
		from = g.at
		if !g.memory {
			hardened = append(hardened, emptyLoop...)
			continue
		}
		hardened = binary.AppendUvarint(append(hardened, opLocalTee), local)
		hardened = append(hardened, opI32Const)
		hardened = append(hardened, 0x80, 0x20) // maxUncheckedRange as a signed LEB128
		hardened = append(hardened, opI32GtU, opIf, noBlockType)
		hardened = append(append(hardened, emptyLoop...), opEnd)
		hardened = binary.AppendUvarint(append(hardened, opLocalGet), local)
	}
	hardened = append(hardened, body[from:]...)
	out = binary.AppendUvarint(out, uint64(len(hardened)))
	return append(out, hardened...), nil
}
