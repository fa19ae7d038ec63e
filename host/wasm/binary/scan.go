package binary

import (
	"fmt"
	"math"
)

// The engine's time to compile a function grows with the square of its branches, and with the
// product of its branches and locals: a file of a hundred kilobytes could keep it busy for hours.
// The bounds leave room for functions ten times as large as the largest of ordinary programs.
const (
	maxFunctionSize = 1 << 20
	maxLocals       = 50_000
	maxBranches     = 10_000
	// Over all functions: the squares of their branches, and their branches times their locals. The
	// limit grows with the size of the code, with twice to four times the need of ordinary
	// programs.
	maxBranching     = 2 * maxBranches * maxBranches
	branchingPerByte = 40
	maxMerging       = 4_000_000
	mergingPerByte   = 2
)

// function is the result of scanning a function's body.
type function struct {
	locals   uint64 // that it declares, without its parameters
	code     int    // where the instructions begin
	branches uint64
	edits    []edit // in their order
	floats   [numLanes]bool
	ranges   bool // it works on ranges that may be long
	cached   bool // it keeps the fuel in a local
	indirect bool // it makes indirect calls through a table that is filled on demand
}

// edit is a change of the code: the bytes from at to end are replaced. At most one of its other fields is set, but for
// long.
type edit struct {
	at, end int
	region  *region // is paid for here
	nan     lanes   // the value before is replaced if it is a NaN
	replace []byte
	long    *helper // the replacement, if only long ranges are replaced
	reload  bool    // others may have used fuel
	entry   bool    // of a table that is filled on demand
}

// compileCost sums up, over the functions of a module, the things that make the engine slow.
type compileCost struct{ branching, merging uint64 }

// add counts a function; it refuses when the functions of a code section of size bytes would take too long to compile.
func (c *compileCost) add(f *function, size int) error {
	c.branching += f.branches * f.branches
	c.merging += f.branches * f.locals
	if c.branching > maxBranching+branchingPerByte*uint64(size) || c.merging > maxMerging+mergingPerByte*uint64(size) {
		return fmt.Errorf("its functions branch too much to be compiled")
	}
	return nil
}

// codeContext is the part of a module that the code of a function refers to.
type codeContext struct {
	fuel    fuelIndexes
	leaves  []uint64 // by number of the function: its cost if it is a leaf, or notLeaf
	helpers *helpers
}

const notLeaf = 1 << 63

// scanFunction reads the instructions of a function once and plans its changes. It need not be right about malformed
// code, which the engine refuses.
func scanFunction(body []byte, ctx *codeContext, leaf bool) (*function, error) {
	if len(body) > maxFunctionSize {
		return nil, fmt.Errorf("a function has %d bytes, and %d are allowed", len(body), maxFunctionSize)
	}
	r := &reader{data: body}
	f := &function{locals: r.locals()}
	f.code = r.pos
	var m *meter
	if !leaf {
		m = newMeter(func(g *region) { f.edits = append(f.edits, edit{at: r.pos, end: r.pos, region: g}) })
	}
	// length is the constant that the instruction before this one put on the stack.
	length := int32(math.MaxInt32)
	for r.pos < len(r.data) && r.err == nil {
		start := r.pos
		in := r.instruction()
		if r.err != nil {
			break
		}
		if err := ctx.fuel.checkName(&in); err != nil {
			return nil, err
		}
		f.countBranches(&in)
		if m != nil {
			r.pos = start
			m.before(&in, costOf(&in)+ctx.costOfCall(&in)+ctx.helpers.cost(&in, length))
			r.pos = in.end
		}
		f.change(&in, ctx, length)
		if m != nil {
			if in.op == opCallIndirect || in.op == opCall && ctx.isMetered(in.index) {
				m.called()
				f.edits = append(f.edits, edit{at: in.end, end: in.end, reload: true})
			}
			if in.op == opMisc {
				f.edits = append(f.edits, edit{at: in.end, end: in.end, reload: true})
			}
			m.after(&in)
		}
		length = math.MaxInt32
		if in.op == opI32Const {
			length = in.value
		}
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case f.branches > maxBranches:
		return nil, fmt.Errorf("a function has %d branches, and %d are allowed", f.branches, maxBranches)
	}
	if m != nil {
		m.finish()
		f.cached = m.switches
	}
	return f, nil
}

// countBranches counts the terms of the engine's compile time.
func (f *function) countBranches(in *instruction) {
	switch in.op {
	case opBlock, opLoop, opIf, opElse, opBr, opBrIf:
		f.branches++
	case opBrTable:
		f.branches += uint64(len(in.labels))
	case opMisc:
		switch in.sub {
		case miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
			f.branches += 4 // the engine makes a few out of each
		}
	}
}

// change plans the edits of an instruction.
func (f *function) change(in *instruction, ctx *codeContext, length int32) {
	switch in.op {
	case opCall, opRefFunc:
		f.edits = append(f.edits, edit{at: in.operand, end: in.end, replace: appendU32(nil, ctx.fuel.shift(in.index))})
	case opCallIndirect:
		if ctx.helpers.onDemand != nil {
			f.indirect = true // the cost of compiling it is bounded already: see fillableOnDemand
			f.edits = append(f.edits, edit{at: in.at, end: in.at, entry: true})
		}
	case opMisc:
		if e, ok := ctx.helpers.replace(in, length); ok {
			f.ranges = f.ranges || e.long != nil
			f.edits = append(f.edits, e)
		}
	case opVector:
		f.replaceNaN(in.end, vectorMakesNaN(in.sub))
	default:
		f.replaceNaN(in.end, makesNaN(in.op))
	}
}

// replaceNaN has the result of an instruction that ends here replaced if it is a NaN.
func (f *function) replaceNaN(end int, l lanes) {
	if l != noLanes {
		f.floats[l] = true
		f.edits = append(f.edits, edit{at: end, end: end, nan: l})
	}
}
