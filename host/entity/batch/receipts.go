package batch

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
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

// answerRepeated answers calls that have been performed before, among the candidates, and takes
// their remaining messages out of the inbox.
func (b *batch) answerRepeated(mayHave func(*call.Call) bool) error {
	asked := map[journal.Origin]*call.Call{}
	for _, c := range b.open() {
		if c.LeavesReceipt() && !c.Looked && mayHave(c) {
			asked[c.Origin] = c
		}
	}
	receipts, err := b.receiptsOf(slices.Collect(maps.Keys(asked)))
	if err != nil {
		return err
	}
	w := journal.Write{ID: b.job.ID}
	for _, c := range asked {
		c.Looked = true
	}
	for i := range receipts {
		r := &receipts[i]
		c := asked[r.Origin]
		b.res.Answers[c] = call.Answer{Outcome: abi.Outcome{Value: r.Value, Error: r.Error}}
		b.res.Surprised = b.res.Surprised || !c.Suspect
		if c.Position != 0 {
			w.Take = append(w.Take, c.Position)
			w.Send = append(w.Send, c.AnswerTo(b.job.ID, b.res.Answers[c].Outcome, b.worker.Commits.Now())...)
		}
	}
	if len(w.Take) == 0 {
		return nil
	}
	// If that fails they are read again, and found to be repeated again.
	if _, err := b.worker.Commits.Committer.Commit(w); err != nil {
		b.res.Left = err
		return nil
	}
	b.worker.Commits.TellCallers(&w)
	return nil
}

// receiptsOf reads receipts of the entity.
func (b *batch) receiptsOf(origins []journal.Origin) ([]journal.Receipt, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	return b.worker.Store.Receipts(b.worker.Host.Context(), b.job.ID, origins)
}
