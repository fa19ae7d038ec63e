package entity

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// answerRepeated answers calls that have been performed before, as far as they may have
// been. What is left of them in the inbox is taken out.
func (b *batch) answerRepeated(mayHave func(*call) bool) error {
	var take []uint64
	for _, c := range b.open() {
		if !c.leavesReceipt() || c.looked || !mayHave(c) {
			continue
		}
		receipt, err := b.Store.Receipt(b.Host.Context(), b.id, c.origin)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			c.looked = true
		case err != nil:
			return err
		default:
			b.answers[c] = answer{outcome: abi.Outcome{Value: receipt.Value, Error: receipt.Error}}
			if c.position != 0 {
				take = append(take, c.position)
			}
		}
	}
	if len(take) == 0 {
		return nil
	}
	// If that fails they are read again, and found to be repeated again.
	if _, err := b.Committer.Commit(journal.Write{ID: b.id, Take: take}); err != nil {
		b.left = err
	}
	return nil
}

// isRepeated tells whether there is a receipt of the write that is not its own.
func (b *batch) isRepeated(w *journal.Write) bool {
	for i := range w.Receipts {
		ours := &w.Receipts[i]
		found, err := b.Store.Receipt(b.Host.Context(), b.id, ours.Origin)
		if err == nil && !same(found, ours) {
			return true
		}
	}
	return false
}
