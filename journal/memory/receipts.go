package memory

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Receipts implements journal.Store.
func (s *Store) Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) ([]journal.Receipt, error) {
	return alone(ctx, s, func() ([]journal.Receipt, error) {
		var found []journal.Receipt
		for _, origin := range origins {
			if r, there := s.receipts[receiptKey{id, origin}]; there {
				found = append(found, cloneReceipt(r))
			}
		}
		return found, nil
	})
}
