package binary

import (
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

// function is what the scan of a function's body found.
type function struct {
	locals   uint64 // that it declares, without its parameters
	code     int    // where the instructions begin
	branches uint64
	ranges   int       // instructions that work on ranges
	guards   []rangeOp // those among them that need a check
	floats   []floatOp // instructions that can make a NaN
	checked  bool      // every way to its first call passes a loop head
	calls    bool      // it makes calls
}

// rangeOp is an instruction that works on a range.
type rangeOp struct {
	at     int // where it stands in the body
	memory bool
}

// compileCost sums up, over the functions of a module, what makes the engine
// slow.
type compileCost struct{ branching, merging uint64 }

// add counts a function; it refuses when the functions of a code section of
// size bytes would take too long to compile.
func (c *compileCost) add(f *function, size int) error {
	c.branching += f.branches * f.branches
	c.merging += f.branches * f.locals
	if c.branching > maxBranching+branchingPerByte*uint64(size) || c.merging > maxMerging+mergingPerByte*uint64(size) {
		return fmt.Errorf("its functions branch too much to be compiled")
	}
	return nil
}

// scanFunction reads the instructions of a function once. It need not be right
// about malformed code, which the engine refuses.
func scanFunction(body []byte) (*function, error) {
	if len(body) > maxFunctionSize {
		return nil, fmt.Errorf("a function has %d bytes, and %d are allowed", len(body), maxFunctionSize)
	}
	r := &reader{data: body}
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
		case opVector:
			vector := r.u32()
			if !r.skipVector(vector) {
				r.fail("the instruction 0xfd %d is unknown", vector)
			}
			f.float(r.pos, vectorMakesNaN(vector))
		default:
			if !r.skipImmediates(op) {
				r.fail("the instruction %#x is unknown", op)
			}
			f.float(r.pos, makesNaN(op))
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

// float takes note of an instruction that ends here and may have made a NaN.
func (f *function) float(end int, l lanes) {
	if l != noLanes {
		f.floats = append(f.floats, floatOp{end, l})
	}
}

// misc takes note of an instruction behind the prefix 0xfc. Length is that of its
// range if the code says so.
func (f *function) misc(r *reader, at int, length int32) {
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
