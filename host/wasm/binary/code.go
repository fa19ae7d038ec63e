package binary

import "fmt"

// rewriteCode returns the code section with every function metered (fuel.go) and the NaNs that it makes replaced
// (nans.go), with indirect calls that fill the table (ondemand.go), and refuses functions that would take too long to
// compile.
func (w *rewriter) rewriteCode(content []byte) ([]byte, error) {
	bodies, err := readBodies(content)
	if err != nil {
		return nil, err
	}
	ctx := &codeContext{fuel: w.fuel, leaves: make([]uint64, len(bodies)), helpers: w.helpers}
	for i, body := range bodies {
		ctx.leaves[i] = notLeaf
		if cost, leaf := leafCost(body); leaf {
			ctx.leaves[i] = cost
		}
	}
	out := make([]byte, 0, len(content)+len(content)/4)
	var cost compileCost
	for i, body := range bodies {
		f, err := scanFunction(body, ctx, ctx.leaves[i] != notLeaf)
		if err != nil {
			return nil, err
		}
		if err := cost.add(f, len(content)); err != nil {
			return nil, err
		}
		if out, err = appendFunction(out, w.Module, w.helpers, i, body, f); err != nil {
			return nil, err
		}
	}
	own := w.helpers.bodies()
	for _, body := range own {
		out = append(appendU32(out, uint64(len(body))), body...)
	}
	return append(appendU32(nil, uint64(len(bodies)+len(own))), out...), nil
}

func readBodies(content []byte) ([][]byte, error) {
	r := &reader{data: content}
	n := r.u32()
	bodies := make([][]byte, 0, min(n, uint32(len(content))))
	for ; n > 0 && r.err == nil; n-- {
		bodies = append(bodies, r.bytes(r.u32()))
	}
	r.end()
	return bodies, r.err
}

// appendFunction appends the body of the function with this number, changed.
func appendFunction(out []byte, m *Module, helpers *helpers, number int, body []byte, f *function) ([]byte, error) {
	changed := make([]byte, 0, len(body)+12*len(f.edits))
	changed, locals, err := f.appendLocals(changed, m, number, body)
	if err != nil {
		return nil, err
	}
	fuel := helpers.fuel
	fuel.cached, fuel.local = f.cached, locals.fuel
	changed = fuel.appendReload(changed)
	from := f.code
	for _, e := range f.edits {
		changed = append(changed, body[from:e.at]...)
		switch {
		case e.region != nil:
			changed = fuel.appendPayment(changed, e.region)
		case e.nan != noLanes:
			changed = appendCanonicalNaN(changed, e.nan, locals.nans[e.nan])
		case e.entry:
			changed = helpers.appendEntry(changed, locals.entry)
		case e.reload:
			changed = fuel.appendReload(changed)
		case e.long != nil:
			changed = helpers.appendShortOrLong(changed, &e, locals.length)
		default:
			changed = append(changed, e.replace...)
		}
		from = e.end
	}
	changed = append(changed, body[from:]...)
	out = appendU32(out, uint64(len(changed)))
	return append(out, changed...), nil
}

// ownLocals are the numbers of the locals that were added to a function.
type ownLocals struct {
	fuel   uint64
	length uint64           // of a range
	entry  uint64           // of the table
	nans   [numLanes]uint64 // values, while they are looked at
}

// appendLocals appends the declarations of the function's locals and of our own.
func (f *function) appendLocals(out []byte, m *Module, number int, body []byte) ([]byte, ownLocals, error) {
	var own ownLocals
	if f.floats == ([numLanes]bool{}) && !f.cached && !f.ranges && !f.indirect {
		return append(out, body[:f.code]...), own, nil
	}
	if number >= len(m.functions) || int64(m.functions[number]) >= int64(len(m.types)) {
		return nil, own, fmt.Errorf("function %d has no type", number)
	}
	next := f.locals + uint64(len(m.types[m.functions[number]].Params))
	var added []byte
	groups := uint64(0)
	add := func(wanted bool, typ byte, local *uint64) {
		if wanted {
			added = append(added, 1, typ)
			*local = next
			groups++
			next++
		}
	}
	add(f.cached, typeI64, &own.fuel)
	add(f.ranges, typeI32, &own.length)
	add(f.indirect, typeI32, &own.entry)
	for l := range numLanes {
		add(f.floats[l], l.typ(), &own.nans[l])
	}
	r := &reader{data: body}
	out = appendU32(out, uint64(r.u32())+groups)
	out = append(out, body[r.pos:f.code]...)
	return append(out, added...), own, nil
}
