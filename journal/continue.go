package journal

// Continuation is how a run goes on as another one, in the same commit that ends it. The row
// stays, with its name, its time of creation, its parent and the request to stop that it may
// have; the chain stays, and the count of its runs rises by one. The state becomes Running, and
// wake time Now.
//
// What was recorded of the old run, its entries, deferreds, links and saved state, is garbage from
// that commit on: [Maintenance.Purge] deletes it in small pieces. The commit itself costs the same for a
// run of ten entries as for one of a million. The inbox stays, and messages that were held there are
// not any more: they are delivered again, before all that came later. Receipts stay, and what was
// published.
type Continuation struct {
	// Run is the new one.
	Run    RunID
	Input  []byte
	Digest string
	Pinned Pinned
}
