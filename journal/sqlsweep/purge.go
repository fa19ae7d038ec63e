package sqlsweep

import (
	"context"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// Purge implements journal.Store.
func (w *Sweeper) Purge(ctx context.Context, own []journal.Fence, limit int) (n int, err error) {
	for more := true; more && n < limit; {
		room := newRoom(limit - n)
		before := room.Rows
		err := w.store.Owned(ctx, own, func(ctx context.Context, tx Tx) (err error) {
			more, err = purgeRuns(ctx, tx, room)
			return err
		})
		if err != nil {
			return n, w.failed("purge", err)
		}
		n += int(before - room.Rows)
	}
	lost, err := w.purgeMail(ctx, own, limit-n)
	if err != nil {
		err = w.failed("purge", err)
	}
	return n + lost, err
}

// purgeRuns deletes rows of runs that are gone, and tells whether there may be more.
func purgeRuns(ctx context.Context, tx Tx, room *Room) (more bool, err error) {
	gone, err := tx.Retired(ctx, journal.SweepBatch)
	if err != nil {
		return false, err
	}
	var shards []journal.Shard
	for i := range gone {
		shards = append(shards, gone[i].Shard)
	}
	if err := tx.Check(ctx, shards...); err != nil {
		return false, err
	}
	for i := range gone {
		whole, err := gone[i].purge(ctx, tx, room)
		if err != nil || !whole || !room.left() {
			return true, err
		}
		room.take(1, 0)
		if err := tx.Forget(ctx, gone[i].RunKey); err != nil {
			return false, err
		}
	}
	return len(gone) > 0, nil
}

// purge deletes the rows of a run, and tells whether none are left.
func (r *Retired) purge(ctx context.Context, tx Tx, room *Room) (whole bool, err error) {
	for _, rows := range r.rows() {
		if whole, err := tx.DeleteRows(ctx, rows, room); err != nil || !whole {
			return false, err
		}
	}
	return true, nil
}

// purgeMail looks at some results and requests to stop, behind those that the last call has looked at, and deletes those
// whose receivers are gone: a receiver that is gone does not come back. There is a result for each caller that has not
// taken it yet; to look at all of them each time would leave time for little else.
func (w *Sweeper) purgeMail(ctx context.Context, own journal.Owned, limit int) (n int, err error) {
	for seen, more := 0, true; more && n < limit && seen < journal.PurgeExamines; {
		size := min(journal.SweepEntries, limit-n)
		page, err := w.store.Mail(ctx, own, w.place(), size)
		if err != nil {
			return n, err
		}
		deleted, err := w.deleteLost(ctx, own, page)
		n += deleted
		if err != nil {
			return n, err
		}
		seen += len(page)
		if more = len(page) == size; more {
			w.setPlace(page[size-1].MailPlace)
		} else {
			w.setPlace(MailPlace{}) // from the beginning
		}
	}
	return n, nil
}

// ScanMail reads a message of [Store.Mail].
func ScanMail(row sqlread.Row, m *Mail) error {
	return row.Scan((*sqlread.ID)(&m.To.ID), (*sqlread.ID)(&m.To.Chain), &m.Position, &m.There)
}

// deleteLost deletes messages of the owner's shards whose receivers are gone.
func (w *Sweeper) deleteLost(ctx context.Context, own journal.Owned, page []Mail) (n int, err error) {
	var shards []journal.Shard
	var lost []MailPlace
	for _, m := range page {
		if shard := m.To.ID.Shard(); !m.There && own.Has(shard) {
			shards, lost = append(shards, shard), append(lost, m.MailPlace)
		}
	}
	if len(lost) == 0 {
		return 0, nil
	}
	err = w.store.Owned(ctx, own, func(ctx context.Context, tx Tx) (err error) {
		if err := tx.Check(ctx, shards...); err != nil {
			return err
		}
		n, err = tx.DeleteMail(ctx, lost)
		return err
	})
	return n, err
}

func (w *Sweeper) place() MailPlace {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.purged
}

func (w *Sweeper) setPlace(after MailPlace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.purged = after
}
