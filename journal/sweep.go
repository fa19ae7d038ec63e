package journal

// SweepBatch bounds the runs that one transaction of a sweep looks at.
const SweepBatch = 100

// SweepEntries bounds the rows that one transaction of a sweep or purge deletes, and SweepBytes about how large they
// are together. On a store with one writer everything waits for as long as that takes.
const (
	SweepEntries = 1000
	SweepBytes   = 4 << 20
)

// PurgeExamines bounds the results in inboxes that one Purge looks at; the next one goes on behind them.
const PurgeExamines = 10 * SweepEntries
