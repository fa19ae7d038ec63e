package journal

// SweepBatch bounds the executions that one transaction of a sweep looks at.
const SweepBatch = 100

// SweepEntries bounds the entries that one transaction of a sweep deletes, and
// SweepBytes about how large they are together. On a store with one writer everything
// waits for as long as that takes.
const (
	SweepEntries = 1000
	SweepBytes   = 4 << 20
)

// SweepSize is how large the journal of an execution is. A store counts no further
// than SweepEntries.
type SweepSize struct {
	Entries, Bytes int64
}

// CutSweep tells how many of the executions one transaction of a sweep deletes, from
// the first on. If not even the first fits, it tells how many entries of that one are
// deleted before the rest of it.
func CutSweep(sizes []SweepSize) (whole int, entries int64) {
	var sum SweepSize
	for i, size := range sizes {
		sum.Entries += size.Entries
		sum.Bytes += size.Bytes
		if sum.Entries < SweepEntries && sum.Bytes <= SweepBytes {
			continue
		}
		if i > 0 {
			return i, 0
		}
		if size.Bytes > SweepBytes {
			return 0, max(1, size.Entries*SweepBytes/size.Bytes)
		}
		return 0, size.Entries
	}
	return len(sizes), 0
}
