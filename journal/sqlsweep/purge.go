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
		err := w.owned(ctx, "purge", own, func(ctx context.Context, tx Tx) (err error) {
			more, err = purgeRuns(ctx, tx, room)
			return err
		})
		if err != nil {
			return n, err
		}
		n += int(before - room.Rows)
	}
	lost, err := w.purgeMail(ctx, own, limit-n)
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

// purgeMail looks at some results and requests to stop, behind the last call's, and deletes the
// ones whose receivers are gone: they do not come back. There is a result for each caller that has
// not taken it yet; to look at all of them each time would leave time for little else.
func (w *Sweeper) purgeMail(ctx context.Context, own journal.Owned, limit int) (n int, err error) {
	select {
	case w.purging <- struct{}{}:
		defer func() { <-w.purging }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for seen, more := 0, true; more && n < limit && seen < journal.PurgeExamines; {
		page, err := w.store.Mail(ctx, own, w.purged, journal.SweepEntries)
		if err != nil {
			return n, err
		}
		lost, looked := lostOf(page, own, limit-n)
		deleted, err := w.deleteMail(ctx, own, lost)
		n += deleted
		if err != nil {
			return n, err
		}
		seen += looked
		if more = looked == journal.SweepEntries; looked > 0 {
			w.purged = page[looked-1].MailPlace
		}
		if looked == len(page) && !more {
			w.purged = MailPlace{} // from the beginning
		}
	}
	return n, nil
}

// lostOf are the messages of the owner's shards whose receivers are gone, at most limit, and how many of the page it
// has looked at.
func lostOf(page []Mail, own journal.Owned, limit int) (lost []MailPlace, looked int) {
	for looked < len(page) && len(lost) < limit {
		if m := &page[looked]; !m.There && own.Has(m.To.ID.Shard()) {
			lost = append(lost, m.MailPlace)
		}
		looked++
	}
	return lost, looked
}

// deleteMail deletes messages.
func (w *Sweeper) deleteMail(ctx context.Context, own journal.Owned, lost []MailPlace) (n int, err error) {
	if len(lost) == 0 {
		return 0, nil
	}
	var shards []journal.Shard
	for i := range lost {
		shards = append(shards, lost[i].To.ID.Shard())
	}
	err = w.owned(ctx, "purge", own, func(ctx context.Context, tx Tx) (err error) {
		if err := tx.Check(ctx, shards...); err != nil {
			return err
		}
		n, err = tx.DeleteMail(ctx, lost)
		return err
	})
	return n, err
}

// ScanMail reads a message of [Store.Mail]. A damaged one is left where it is, and is in the way of no other.
func ScanMail(row sqlread.Row, m *Mail) error {
	var id, chain []byte
	err := row.Scan(&id, &chain, &m.Position, &m.There)
	whole := copy(m.To.ID[:], id) == len(m.To.ID) && copy(m.To.Chain[:], chain) == len(m.To.Chain)
	m.There = m.There || !whole
	return err
}
