package journal

// Continuation is how a run goes on as another one, in the same commit that ends it. The row stays, with its name, its
// time of creation, its parent and the request to stop that it may have; the chain stays, and the count of its runs
// rises by one. The state becomes Running, and wake time Now.
//
// The records of the old run, its entries, deferreds, links and saved state, are garbage from that
// commit on: [Maintenance.Purge] deletes it in small pieces. The commit itself costs the same for a
// run of ten entries as for one of a million. The inbox stays, and held messages there are
// released: they are delivered again, before all later ones. Receipts and published values stay.
type Continuation struct {
	// Run is the new one.
	Run    RunID
	Input  []byte
	Digest string
	Pinned Pinned
}
