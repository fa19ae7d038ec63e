package sqlsweep

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// SweepLocks implements journal.Store. It walks over all locks: there are no more of them than live
// runs have taken. An ended section is not entered again, so a lock found free stays free.
func (w *Sweeper) SweepLocks(ctx context.Context, own []journal.Fence, limit int) (int, error) {
	s := &sweep{w, own, limit}
	var after journal.ID
	return s.run(ctx, "sweep locks", func(ctx context.Context, tx Tx) (bool, error) {
		return s.deleteLocks(ctx, tx, &after)
	})
}

// deleteLocks looks at some locks, and deletes the free ones.
func (s *sweep) deleteLocks(ctx context.Context, tx Tx, after *journal.ID) (more bool, err error) {
	page, err := tx.Locks(ctx, *after, journal.SweepBatch)
	if err != nil || len(page) == 0 {
		return false, err
	}
	var shards []journal.Shard
	var gone []Lock
	for _, l := range page {
		if len(gone) == s.left {
			break
		}
		*after = l.Entity
		if shard := l.Entity.Shard(); !l.Held && s.own.Has(shard) {
			shards, gone = append(shards, shard), append(gone, l)
		}
	}
	if err := tx.Check(ctx, shards...); err != nil {
		return false, err
	}
	n, err := tx.DeleteLocks(ctx, gone)
	s.left -= n
	return true, err
}
