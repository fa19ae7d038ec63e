package sqlsweep

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// sweep is a series of short transactions, between which others have their turn.
type sweep struct {
	*Sweeper
	own  journal.Owned
	left int // rows that it may still delete
}

// step does a piece of a sweep in a transaction, and tells whether there may be more.
type step func(ctx context.Context, tx Tx) (more bool, err error)

// run repeats each step in transactions of its own until there is no more to do. It returns how much was deleted.
func (s *sweep) run(ctx context.Context, op string, steps ...step) (deleted int, err error) {
	limit := max(s.left, 0)
	for _, do := range steps {
		for more := true; more && s.left > 0; {
			err := s.owned(ctx, op, s.own, func(ctx context.Context, tx Tx) (err error) {
				more, err = do(ctx, tx)
				return err
			})
			if err != nil {
				return 0, err
			}
		}
	}
	return limit - max(s.left, 0), nil
}

// Sweep implements journal.Store.
func (w *Sweeper) Sweep(ctx context.Context, own []journal.Fence, finishedBefore int64, limit int) (int, error) {
	s := &sweep{w, own, limit}
	var after RunPlace
	return s.run(ctx, "sweep", free, func(ctx context.Context, tx Tx) (bool, error) {
		return s.deleteRuns(ctx, tx, finishedBefore, &after)
	})
}

// free frees rows of a run that has ended.
func free(ctx context.Context, tx Tx) (more bool, err error) {
	holder, err := tx.OverHolder(ctx)
	if err != nil || holder == nil {
		return false, err
	}
	if err := tx.Check(ctx, holder.Shard); err != nil {
		return false, err
	}
	more, err = tx.Free(ctx, holder, journal.SweepBatch)
	if err == nil && !more {
		err = tx.ClearHolder(ctx, holder)
	}
	return true, err
}

// deleteRuns looks at some runs, and deletes any that no live run may ask for.
func (s *sweep) deleteRuns(ctx context.Context, tx Tx, before int64, after *RunPlace) (more bool, err error) {
	limit := min(s.left, journal.SweepBatch)
	page, err := tx.Expired(ctx, before, *after, limit)
	if err != nil || len(page) == 0 {
		return false, err
	}
	held, free, err := s.divide(ctx, tx, page)
	if err != nil {
		return false, err
	}
	if err := tx.Hold(ctx, held); err != nil {
		return false, err
	}
	whole, err := deleteReceiptsOf(ctx, tx, free)
	if err != nil {
		return false, err
	}
	if err := tx.Retire(ctx, free[:whole]); err != nil {
		return false, err
	}
	s.left -= whole
	switch cut := whole < len(free); {
	case !cut:
		*after = page[len(page)-1].RunPlace
		return len(page) == limit, nil
	case whole > 0: // the rest is looked at again
		*after = free[whole-1].RunPlace
	}
	return true, nil
}

// divide divides runs of the owner's shards into held and deletable ones. Runs linked to meanwhile
// are left to the next sweep.
func (s *sweep) divide(ctx context.Context, tx Tx, page []Expired) (held, free []Expired, err error) {
	var shards []journal.Shard
	for i := range page {
		if shard := page[i].ID.Shard(); s.own.Has(shard) {
			shards = append(shards, shard)
		}
	}
	if err := tx.Check(ctx, shards...); err != nil {
		return nil, nil, err
	}
	linked, err := tx.Linked(ctx, page)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range page {
		switch {
		case !s.own.Has(e.ID.Shard()):
		case e.Holder != nil:
			held = append(held, e)
		case !linked[e.Run]:
			free = append(free, e)
		}
	}
	return held, free, nil
}

// deleteReceiptsOf deletes the receipts of executions whose current runs go: a next run would take them for its own.
// They may be many; it returns how many of the runs, from the first on, have none left.
func deleteReceiptsOf(ctx context.Context, tx Tx, runs []Expired) (whole int, err error) {
	room := newRoom(journal.SweepEntries)
	for i := range runs {
		if runs[i].Superseded > 0 {
			continue
		}
		none, err := tx.DeleteRows(ctx, receiptsOf(runs[i].ID), room)
		if err != nil || !none {
			return i, err
		}
	}
	return len(runs), nil
}

// Delete implements journal.Store.
func (w *Sweeper) Delete(
	ctx context.Context, f journal.Fence, id journal.ID, run journal.RunID, superseded uint64,
) error {
	own := make(journal.Owned, journal.NumShards)
	own[id.Shard()] = f
	for more := true; more; {
		err := w.owned(
			ctx,
			"delete run "+run.String()+" of "+id.String(),
			own,
			func(ctx context.Context, tx Tx) (err error) {
				more, err = deleteRun(ctx, tx, id, run, superseded)
				return err
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteRun deletes a run, or some receipts of its execution if they are many.
func deleteRun(ctx context.Context, tx Tx, id journal.ID, run journal.RunID, superseded uint64) (more bool, err error) {
	if err := tx.Check(ctx, id.Shard()); err != nil {
		return false, err
	}
	number, err := tx.Finished(ctx, id, run)
	if err == nil && number != superseded {
		err = journal.ErrNotFound
	}
	if err != nil {
		return false, err
	}
	this := []Expired{{RunPlace: RunPlace{ID: id, Superseded: superseded}, Run: run}}
	whole, err := deleteReceiptsOf(ctx, tx, this)
	if err != nil || whole == 0 {
		return true, err
	}
	if err := tx.LeaveLink(ctx, this[0].Key()); err != nil {
		return false, err
	}
	return false, tx.Retire(ctx, this)
}
