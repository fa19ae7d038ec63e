package binary

import "strings"

// The additions to a rewritten module: see fuel.go.

// addTypes returns the type section with ownTypes behind the others.
func addTypes(content []byte) []byte {
	r := &reader{data: content}
	out := appendU32(nil, uint64(r.u32())+uint64(len(ownTypes)))
	out = append(out, content[r.pos:]...)
	for _, t := range ownTypes {
		out = append(out, formFunction)
		for _, list := range []string{t.Params, t.Results} {
			out = append(appendU32(out, uint64(len(list))), list...)
		}
	}
	return out
}

// addImport returns the import section with the function that is called when fuel is out behind the others.
func (w *rewriter) addImport(content []byte) []byte {
	r := &reader{data: content}
	out := appendU32(nil, uint64(r.u32())+1)
	out = append(out, content[r.pos:]...)
	for _, name := range []string{FuelModule, FuelFunction} {
		out = append(appendU32(out, uint64(len(name))), name...)
	}
	return appendU32(append(out, externFunction), uint64(w.fuel.types)+typeRefuel)
}

// addFunctions returns the function section with the helpers behind the others.
func (w *rewriter) addFunctions(content []byte) []byte {
	types := w.helpers.types()
	r := &reader{data: content}
	out := appendU32(nil, uint64(r.u32())+uint64(len(types)))
	out = append(out, content[r.pos:]...)
	for _, t := range types {
		out = appendU32(out, t)
	}
	return out
}

// addGlobal returns the global section with the fuel counter appended. It begins empty: the first
// check asks the host.
func (w *rewriter) addGlobal(content []byte) ([]byte, error) {
	r := &reader{data: content}
	n := r.u32()
	renumbered := w.renumberFunctions(r)
	for left := n; left > 0 && r.err == nil; left-- {
		r.valueType()
		r.byte()
		r.expression(renumbered.named)
	}
	out := append(appendU32(nil, uint64(n)+1), renumbered.upTo(r.pos)...)
	return append(out, typeI64, 1, opI64Const, 0, opEnd), r.err
}

// shiftStart returns the start section with the new number of its function.
func (w *rewriter) shiftStart(content []byte) ([]byte, error) {
	r := &reader{data: content}
	function := r.u32()
	r.end()
	if uint64(function) >= w.fuel.end {
		r.fail("it names the function %d, and there are %d", function, w.fuel.end)
	}
	return appendU32(nil, w.shift(function)), r.err
}

// shiftElements returns the element section with the new numbers of functions.
func (w *rewriter) shiftElements(content []byte) ([]byte, error) {
	r := &reader{data: content}
	n := r.u32()
	renumbered := w.renumberFunctions(r)
	for left := n; left > 0 && r.err == nil; left-- {
		r.elementSegment(maxElements, renumbered.named)
	}
	return append(appendU32(nil, uint64(n)), renumbered.upTo(r.pos)...), r.err
}

// rewriteExports returns the export section with new numbers of functions, without names that are ours, and with the
// global that counts fuel.
func (w *rewriter) rewriteExports() []byte {
	var exports []exportEntry
	for _, e := range w.exports {
		if strings.HasPrefix(e.name, reservedExports) {
			continue
		}
		if e.kind == externFunction {
			e.index = uint32(w.shift(e.index))
		}
		exports = append(exports, e)
	}
	if w.helpers != nil {
		exports = append(exports, exportEntry{FuelExport, externGlobal, w.fuel.global})
	}
	return addExports([]byte{0}, exports)
}

// functionRenumbering copies a reader's input, with new numbers of functions.
type functionRenumbering struct {
	*rewriter
	r    *reader
	from int // input before it is copied
	out  []byte
}

func (w *rewriter) renumberFunctions(r *reader) *functionRenumbering {
	return &functionRenumbering{rewriter: w, r: r, from: r.pos}
}

func (s *functionRenumbering) named(at, end int, function uint32) {
	if uint64(function) >= s.fuel.end {
		s.r.fail("it names the function %d, and there are %d", function, s.fuel.end)
		return
	}
	s.out = appendU32(append(s.out, s.r.data[s.from:at]...), s.shift(function))
	s.from = end
}

func (s *functionRenumbering) upTo(end int) []byte {
	return append(s.out, s.r.data[s.from:max(s.from, end)]...)
}
