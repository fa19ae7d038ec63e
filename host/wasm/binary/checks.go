package binary

import "fmt"

// How much a function may do unchecked: a caller can call it a hundred thousand
// times in a row, straight.
const (
	maxUncheckedSize   = 1 << 10 // bytes of a function without calls
	maxUncheckedRanges = 4       // instructions in it that work on ranges
	maxUncheckedRange  = 4 << 10 // bytes of memory that one of them works on
)

// emptyLoop is "loop end" with no parameters and no results.
var emptyLoop = []byte{opLoop, noBlockType, opEnd}

// insertChecks returns the code section with a check wherever a guest could
// otherwise run for long without one, and refuses functions that would take too
// long to compile.
//
// The engine looks whether a call is to be stopped at every loop head, and
// nowhere else. Code that only recurses, like a naive Fibonacci, has no loop: it
// cannot be stopped, and since native code cannot be preempted either, the next
// garbage collection of the host waits for it. Checking at every function entry
// would be enough, but each check leaves native code, and there are many small
// functions. The invariant we need is weaker: between two checks only a small
// amount of work is done. So a function gets a check at its entry unless it is
// small and makes no calls, or passes a loop head on every way to its first call,
// as most functions compiled by Go do; and instructions that work on whole ranges
// get a check of their own when the range is long. The check is an empty loop,
// which changes no label depths.
func insertChecks(m *Module, content []byte) ([]byte, error) {
	r := &reader{data: content}
	n := r.u32()
	out := make([]byte, 0, len(content)+len(content)/16)
	out = appendU32(out, uint64(n))
	var cost compileCost
	for i := 0; i < int(n) && r.err == nil; i++ {
		body := r.bytes(r.u32())
		f, err := scanFunction(body)
		if err != nil {
			return nil, err
		}
		if err := cost.add(f, len(content)); err != nil {
			return nil, err
		}
		if out, err = appendFunction(out, m, i, body, f); err != nil {
			return nil, err
		}
	}
	r.end()
	return out, r.err
}

// needsCheck tells whether the function gets a check at its entry.
func (f *function) needsCheck(size int) bool {
	return !f.checked && (f.calls || size > maxUncheckedSize || f.ranges > maxUncheckedRanges)
}

// appendFunction appends the body of the function with this number, with its
// checks.
func appendFunction(out []byte, m *Module, number int, body []byte, f *function) ([]byte, error) {
	entry := f.needsCheck(len(body))
	if !entry && len(f.guards) == 0 {
		out = appendU32(out, uint64(len(body)))
		return append(out, body...), nil
	}
	hardened := make([]byte, 0, len(body)+32)
	// The length of a range is kept in a local of its own while it is looked at.
	local := f.locals
	if len(f.guards) > 0 {
		if number >= len(m.functions) || int64(m.functions[number]) >= int64(len(m.types)) {
			return nil, fmt.Errorf("function %d has no type", number)
		}
		local += uint64(len(m.types[m.functions[number]].Params))
		r := &reader{data: body}
		groups := uint64(r.u32())
		hardened = appendU32(hardened, groups+1)
		hardened = append(hardened, body[r.pos:f.code]...)
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
		hardened = appendU32(append(hardened, opLocalTee), local)
		hardened = appendS32(append(hardened, opI32Const), maxUncheckedRange)
		hardened = append(hardened, opI32GtU, opIf, noBlockType)
		hardened = append(append(hardened, emptyLoop...), opEnd)
		hardened = appendU32(append(hardened, opLocalGet), local)
	}
	hardened = append(hardened, body[from:]...)
	out = appendU32(out, uint64(len(hardened)))
	return append(out, hardened...), nil
}
