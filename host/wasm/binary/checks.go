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

// appendFunction appends the body of the function with this number, with its checks
// and with the NaNs that it makes replaced.
func appendFunction(out []byte, m *Module, number int, body []byte, f *function) ([]byte, error) {
	entry := f.needsCheck(len(body))
	if !entry && len(f.guards) == 0 && len(f.floats) == 0 {
		out = appendU32(out, uint64(len(body)))
		return append(out, body...), nil
	}
	hardened := make([]byte, 0, len(body)+32+20*len(f.floats))
	hardened, locals, err := f.appendLocals(hardened, m, number, body)
	if err != nil {
		return nil, err
	}
	if entry {
		hardened = append(hardened, emptyLoop...)
	}
	from, floats := f.code, f.floats
	upTo := func(at int) {
		for len(floats) > 0 && floats[0].end <= at {
			hardened = append(hardened, body[from:floats[0].end]...)
			hardened = appendCanonicalNaN(hardened, floats[0].lanes, locals.floats[floats[0].lanes])
			from, floats = floats[0].end, floats[1:]
		}
		hardened = append(hardened, body[from:at]...)
		from = at
	}
	for _, g := range f.guards {
		upTo(g.at)
		if !g.memory {
			hardened = append(hardened, emptyLoop...)
			continue
		}
		hardened = appendU32(append(hardened, opLocalTee), locals.length)
		hardened = appendS32(append(hardened, opI32Const), maxUncheckedRange)
		hardened = append(hardened, opI32GtU, opIf, noBlockType)
		hardened = append(append(hardened, emptyLoop...), opEnd)
		hardened = appendU32(append(hardened, opLocalGet), locals.length)
	}
	upTo(len(body))
	out = appendU32(out, uint64(len(hardened)))
	return append(out, hardened...), nil
}

// ownLocals are the numbers of the locals that were added to a function.
type ownLocals struct {
	length uint64           // of a range, while it is looked at
	floats [numLanes]uint64 // values, while they are
}

// appendLocals appends the declarations of the function's locals and of those that
// the changes need.
func (f *function) appendLocals(out []byte, m *Module, number int, body []byte) ([]byte, ownLocals, error) {
	var own ownLocals
	var used [numLanes]bool
	for _, fl := range f.floats {
		used[fl.lanes] = true
	}
	if len(f.guards) == 0 && len(f.floats) == 0 {
		return append(out, body[:f.code]...), own, nil
	}
	if number >= len(m.functions) || int64(m.functions[number]) >= int64(len(m.types)) {
		return nil, own, fmt.Errorf("function %d has no type", number)
	}
	next := f.locals + uint64(len(m.types[m.functions[number]].Params))
	var added []byte
	groups := uint64(0)
	add := func(typ byte) uint64 {
		added = append(added, 1, typ)
		groups++
		next++
		return next - 1
	}
	if len(f.guards) > 0 {
		own.length = add(typeI32)
	}
	for l := range numLanes {
		if used[l] {
			own.floats[l] = add(l.typ())
		}
	}
	r := &reader{data: body}
	out = appendU32(out, uint64(r.u32())+groups)
	out = append(out, body[r.pos:f.code]...)
	return append(out, added...), own, nil
}
