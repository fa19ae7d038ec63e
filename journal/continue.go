package journal

// Continuation is how a run goes on as another one, in the same commit that ends it. The row
// stays, with its name, its time of creation, its parent and the request to stop that it may
// have; the chain stays, and the count of its runs rises by one. The state becomes Running, and
// wake time Now.
//
// What was recorded of the old run is deleted in that commit: entries, deferreds, links to
// callees, saved state. Others wait for it, longest on the embedded store: 30 ms for 10,000
// entries (BenchmarkContinue). The inbox stays, and what was held there is not any more: it is
// delivered again, before all that came later. Receipts stay, and what was published.
type Continuation struct {
	// Run is the new one.
	Run    RunID
	Input  []byte
	Digest string
	Pinned Pinned
}
