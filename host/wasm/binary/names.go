package binary

// functionNames returns a custom section with the names of the functions, which are shown in backtraces, and nothing
// else; nil if the section has none. Debug information and whatever else is in such sections never reaches the engine.
// Functions have new numbers.
func functionNames(content []byte, shift func(uint32) uint64) []byte {
	const section, subsection = "name", 1
	r := &reader{data: content}
	if r.name() != section {
		return nil
	}
	for r.pos < len(r.data) && r.err == nil {
		id := r.byte()
		names := r.bytes(r.u32())
		if id != subsection || r.err != nil {
			continue
		}
		n := &reader{data: names}
		count := n.u32()
		shifted := appendU32(nil, uint64(count))
		for left := count; left > 0 && n.err == nil; left-- {
			shifted = appendU32(shifted, shift(n.u32()))
			name := n.name()
			shifted = append(appendU32(shifted, uint64(len(name))), name...)
		}
		if n.err != nil || n.pos != len(names) || count > maxEntries[sectionFunction] {
			return nil
		}
		out := append([]byte{byte(len(section))}, section...)
		out = appendU32(append(out, subsection), uint64(len(shifted)))
		return append(out, shifted...)
	}
	return nil
}
