package sqlsweep

import (
	"context"
	"math"

	"github.com/cruster/cruster/journal"
)

// SweepReceipts implements journal.Store.
func (w *Sweeper) SweepReceipts(ctx context.Context, own []journal.Fence, before int64, limit int) (int, error) {
	s := &sweep{w, own, limit}
	after := ReceiptPlace{At: math.MinInt64}
	return s.run(ctx, "sweep receipts", free, func(ctx context.Context, tx Tx) (bool, error) {
		return s.deleteReceipts(ctx, tx, before, &after)
	})
}

// deleteReceipts looks at some receipts, and deletes the receipts that no live run may ask for.
func (s *sweep) deleteReceipts(ctx context.Context, tx Tx, before int64, after *ReceiptPlace) (more bool, err error) {
	limit := min(s.left, journal.SweepEntries)
	page, err := tx.OldReceipts(ctx, before, *after, limit)
	if err != nil || len(page) == 0 {
		return false, err
	}
	room := newRoom(len(page))
	var piece []OldReceipt // of receipts without one of another owner between them
	for _, r := range page {
		if !room.left() {
			break
		}
		*after = r.ReceiptPlace
		if s.own.Has(r.ID.Shard()) {
			piece = append(piece, r)
		} else {
			err = s.deletePiece(ctx, tx, piece)
			piece = nil
		}
		if err != nil {
			return false, err
		}
		room.take(1, r.Bytes)
	}
	return len(page) == limit || *after != page[len(page)-1].ReceiptPlace, s.deletePiece(ctx, tx, piece)
}

// deletePiece deletes receipts but the live runs', which are held.
func (s *sweep) deletePiece(ctx context.Context, tx Tx, piece []OldReceipt) error {
	var shards []journal.Shard
	var held, free []OldReceipt
	for _, r := range piece {
		shards = append(shards, r.ID.Shard())
		if r.Live {
			held = append(held, r)
		} else {
			free = append(free, r)
		}
	}
	if err := tx.Check(ctx, shards...); err != nil {
		return err
	}
	if err := tx.HoldReceipts(ctx, held); err != nil {
		return err
	}
	n, err := tx.DeleteReceipts(ctx, free)
	s.left -= n
	return err
}
