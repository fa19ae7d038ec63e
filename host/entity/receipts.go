package entity

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # Repeated calls
//
// Mostly no call of a batch is repeated, and the commit would find out: so nothing is read. Calls
// that are known to be repeated, or that their callers mark, are looked up before the batch runs,
// all with one read. Unmarked repetitions make the commit fail, and the others of the batch run
// again; on Postgres the writes of other entities that share the transaction are then decided one
// by one as well. Repeated calls come in storms, after a host or a network was away. So a batch in
// which a commit has found some makes the entity wary: its next batches look up all that they have
// first, and no commit fails, until several of them in a row have found none.

// waryBatches is for how many batches an entity looks up all calls first.
const waryBatches = 8

// answerRepeated answers calls that have been performed before, among the candidates, and takes
// their remaining messages out of the inbox.
func (b *batch) answerRepeated(mayHave func(*call) bool) error {
	asked := map[journal.Origin]*call{}
	for _, c := range b.open() {
		if c.leavesReceipt() && !c.looked && mayHave(c) {
			asked[c.origin] = c
		}
	}
	receipts, err := b.receiptsOf(slices.Collect(maps.Keys(asked)))
	if err != nil {
		return err
	}
	w := journal.Write{ID: b.id}
	for _, c := range asked {
		c.looked = true
	}
	for i := range receipts {
		r := &receipts[i]
		c := asked[r.Origin]
		b.answers[c] = answer{outcome: abi.Outcome{Value: r.Value, Error: r.Error}}
		b.surprised = b.surprised || !c.suspect
		if c.position != 0 {
			w.Take = append(w.Take, c.position)
			w.Send = append(w.Send, c.answerTo(b.id, b.answers[c].outcome, b.entities.now())...)
		}
	}
	if len(w.Take) == 0 {
		return nil
	}
	// If that fails they are read again, and found to be repeated again.
	if _, err := b.entities.Committer.Commit(w); err != nil {
		b.left = err
		return nil
	}
	b.entities.tellCallers(&w)
	return nil
}

// receiptsOf reads receipts of the entity.
func (b *batch) receiptsOf(origins []journal.Origin) ([]journal.Receipt, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	return b.entities.Store.Receipts(b.entities.Host.Context(), b.id, origins)
}

// isRepeated tells whether there is a receipt of the write that is not its own.
func (b *batch) isRepeated(w *journal.Write) bool {
	ours := map[journal.Origin]*journal.Receipt{}
	for i := range w.Receipts {
		ours[w.Receipts[i].Origin] = &w.Receipts[i]
	}
	found, err := b.receiptsOf(slices.Collect(maps.Keys(ours)))
	return err == nil && slices.ContainsFunc(found, func(r journal.Receipt) bool { return !same(&r, ours[r.Origin]) })
}
