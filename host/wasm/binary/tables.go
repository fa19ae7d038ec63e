package binary

// Bounds on tables. The engine keeps a table in the host's memory, eight bytes an entry, where the memory limit of an
// instance does not reach.
const (
	maxTables       = 16
	maxTableEntries = 1 << 17
)

// boundTables returns the table section with a maximum on every table. Without one the engine grows a table up to a
// gigabyte of the host's heap.
func boundTables(tables []table) []byte {
	out := appendU32(nil, uint64(len(tables)))
	for _, t := range tables {
		top := uint32(maxTableEntries)
		if t.hasMax {
			top = min(top, t.max)
		}
		out = append(out, t.elem, 1)
		out = appendU32(out, uint64(t.min))
		out = appendU32(out, uint64(top))
	}
	return out
}
