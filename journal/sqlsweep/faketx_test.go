package sqlsweep_test

import (
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// fakeTx is a transaction of a fake. It implements sqlsweep.Tx.
type fakeTx struct {
	f       *fake
	own     journal.Owned
	checked map[journal.Shard]bool

	rows   int   // deleted, but those of runs
	bytes  int64 // of them
	runs   int   // deleted
	pieces []int // receipts of each DeleteReceipts
	frees  int   // calls of Free
	clears int   // calls of ClearHolder
	forgot int   // runs
	linked int   // calls of LeaveLink
	listed int   // rows of the page that it has looked at
}

// behind is a fault unless a change of a shard's rows comes behind a check of the shard.
func (tx *fakeTx) behind(what string, s journal.Shard) error {
	if !tx.checked[s] {
		return tx.f.fault("%s of shard %d behind no check", what, s)
	}
	return nil
}

// gone counts a row that is deleted. The row that passes the bound of bytes is the last.
func (tx *fakeTx) gone(what string, s journal.Shard, size int64) error {
	if tx.rows == journal.SweepEntries || tx.bytes >= journal.SweepBytes {
		return tx.f.fault("%s: a transaction deletes more than %d rows of %d bytes", what, tx.rows, tx.bytes)
	}
	tx.rows++
	tx.bytes += size
	return tx.behind(what, s)
}

// Check implements sqlsweep.Tx.
func (tx *fakeTx) Check(_ context.Context, shards ...journal.Shard) error {
	for _, s := range shards {
		if !tx.own.Has(s) && len(tx.own.From(0)) > 0 {
			return tx.f.fault("a check of shard %d of another owner", s)
		}
		if tx.own[s] != tx.f.current[s] {
			return journal.ErrFenced
		}
		tx.checked[s] = true
	}
	return nil
}

// OverHolder implements sqlsweep.Tx.
func (tx *fakeTx) OverHolder(context.Context) (*sqlsweep.Holder, error) {
	for _, h := range tx.f.holders {
		if !tx.f.live[h.RunKey] && tx.own.Has(h.Shard) {
			return &h, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// Free implements sqlsweep.Tx.
func (tx *fakeTx) Free(_ context.Context, h *sqlsweep.Holder, limit int) (more bool, err error) {
	tx.frees++
	runs, receipts := 0, 0
	for i := range tx.f.runs {
		if r := &tx.f.runs[i]; runs < limit && r.heldBy == h.RunKey {
			r.heldBy, runs = journal.RunKey{}, runs+1
		}
	}
	for i := range tx.f.receipts {
		if r := &tx.f.receipts[i]; receipts < limit && r.held && r.sender() == h.RunKey {
			r.held, receipts = false, receipts+1
		}
	}
	return runs == limit || receipts == limit, tx.behind("free", h.Shard)
}

// ClearHolder implements sqlsweep.Tx.
func (tx *fakeTx) ClearHolder(_ context.Context, h *sqlsweep.Holder) error {
	tx.clears++
	if slices.ContainsFunc(tx.f.runs, func(r fakeRun) bool { return r.heldBy == h.RunKey }) ||
		slices.ContainsFunc(tx.f.receipts, func(r fakeReceipt) bool { return r.held && r.sender() == h.RunKey }) {
		return tx.f.fault("a holder that holds rows is cleared")
	}
	tx.f.holders = slices.DeleteFunc(tx.f.holders, func(o sqlsweep.Holder) bool { return o.RunKey == h.RunKey })
	return tx.behind("clear", h.Shard)
}

// note notes that a run holds rows.
func (tx *fakeTx) note(holder journal.RunKey) {
	if h := (sqlsweep.Holder{RunKey: holder}); !slices.Contains(tx.f.holders, h) {
		tx.f.holders = append(tx.f.holders, h)
	}
}

// Expired implements sqlsweep.Tx.
func (tx *fakeTx) Expired(
	_ context.Context, before int64, after sqlsweep.RunPlace, limit int,
) ([]sqlsweep.Expired, error) {
	var found []sqlsweep.Expired
	for _, r := range page(tx.f.runs, limit, func(r fakeRun) bool {
		free := r.heldBy == journal.RunKey{} && !tx.f.live[r.key()]
		return free && r.At < before && compareRuns(r.RunPlace, after) > 0
	}) {
		e := sqlsweep.Expired{RunPlace: r.RunPlace, Run: r.run}
		if tx.f.live[r.asker] {
			e.Holder = &r.asker
		}
		found = append(found, e)
	}
	tx.listed = len(found)
	return found, nil
}

// find finds the row of a run.
func (tx *fakeTx) find(run journal.RunKey) *fakeRun {
	i := slices.IndexFunc(tx.f.runs, func(r fakeRun) bool { return r.key() == run })
	if i < 0 {
		return nil
	}
	return &tx.f.runs[i]
}

// Linked implements sqlsweep.Tx.
func (tx *fakeTx) Linked(_ context.Context, found []sqlsweep.Expired) (map[journal.RunID]bool, error) {
	linked := map[journal.RunID]bool{}
	for i := range found {
		linked[found[i].Run] = tx.find(found[i].Key()).linked
	}
	return linked, nil
}

// Hold implements sqlsweep.Tx.
func (tx *fakeTx) Hold(_ context.Context, held []sqlsweep.Expired) error {
	for i := range held {
		tx.find(held[i].Key()).heldBy = *held[i].Holder
		tx.note(*held[i].Holder)
		if err := tx.behind("hold", held[i].ID.Shard()); err != nil {
			return err
		}
	}
	return nil
}

// Retire implements sqlsweep.Tx.
func (tx *fakeTx) Retire(_ context.Context, gone []sqlsweep.Expired) error {
	for i := range gone {
		g := &gone[i]
		r := tx.find(g.Key())
		switch {
		case r == nil || r.RunPlace.Superseded != g.Superseded:
			return tx.f.fault("no run %v to retire", g)
		case g.Superseded == 0 && len(tx.f.rows[rowsKey("receipts", g.ID[:])]) > 0:
			return tx.f.fault("run %v goes before its receipts", g)
		case g.Holder != nil || r.linked:
			return tx.f.fault("run %v goes, and a live one may ask for it", g)
		}
		if err := tx.behind("retire", g.ID.Shard()); err != nil {
			return err
		}
		tx.f.runs = slices.DeleteFunc(tx.f.runs, func(r fakeRun) bool { return r.key() == g.Key() })
	}
	if tx.runs += len(gone); tx.runs > journal.SweepBatch {
		return tx.f.fault("a transaction deletes %d runs", tx.runs)
	}
	return nil
}

// OldReceipts implements sqlsweep.Tx.
func (tx *fakeTx) OldReceipts(
	_ context.Context, before int64, after sqlsweep.ReceiptPlace, limit int,
) ([]sqlsweep.OldReceipt, error) {
	var found []sqlsweep.OldReceipt
	for _, r := range page(tx.f.receipts, limit, func(r fakeReceipt) bool {
		return !r.held && r.At < before && compareReceipts(r.ReceiptPlace, after) > 0
	}) {
		found = append(found, sqlsweep.OldReceipt{
			ReceiptPlace: r.ReceiptPlace, From: r.from, Bytes: r.bytes, Live: tx.f.live[r.sender()],
		})
	}
	tx.listed = len(found)
	return found, nil
}

// HoldReceipts implements sqlsweep.Tx.
func (tx *fakeTx) HoldReceipts(_ context.Context, held []sqlsweep.OldReceipt) error {
	for _, h := range held {
		for i := range tx.f.receipts {
			if r := &tx.f.receipts[i]; r.ReceiptPlace == h.ReceiptPlace {
				r.held = true
				tx.note(r.sender())
			}
		}
		if err := tx.behind("hold of a receipt", h.ID.Shard()); err != nil {
			return err
		}
	}
	return nil
}

// DeleteReceipts implements sqlsweep.Tx: the rows from the first to the last, but held ones.
func (tx *fakeTx) DeleteReceipts(_ context.Context, free []sqlsweep.OldReceipt) (int, error) {
	if len(free) == 0 {
		return 0, nil
	}
	first, last := free[0].ReceiptPlace, free[len(free)-1].ReceiptPlace
	var kept []fakeReceipt
	n := 0
	for _, r := range tx.f.receipts {
		if r.held || compareReceipts(r.ReceiptPlace, first) < 0 || compareReceipts(r.ReceiptPlace, last) > 0 {
			kept = append(kept, r)
			continue
		}
		if n == len(free) || free[n].ReceiptPlace != r.ReceiptPlace {
			return 0, tx.f.fault("receipt %v stands within a piece", r)
		}
		if err := tx.gone("receipt", r.ID.Shard(), r.bytes); err != nil {
			return 0, err
		}
		n++
	}
	if n < len(free) {
		return 0, tx.f.fault("%d receipts of a piece of %d", n, len(free))
	}
	tx.f.receipts = kept
	tx.pieces = append(tx.pieces, n)
	return n, nil
}

// Locks implements sqlsweep.Tx.
func (tx *fakeTx) Locks(_ context.Context, after journal.ID, limit int) ([]sqlsweep.Lock, error) {
	found := page(tx.f.locks, limit, func(l sqlsweep.Lock) bool { return string(l.Entity[:]) > string(after[:]) })
	tx.listed = len(found)
	return found, nil
}

// DeleteLocks implements sqlsweep.Tx.
func (tx *fakeTx) DeleteLocks(_ context.Context, gone []sqlsweep.Lock) (n int, err error) {
	for _, l := range gone {
		switch err := tx.gone("lock", l.Entity.Shard(), 0); {
		case err != nil:
			return 0, err
		case l.Held:
			return 0, tx.f.fault("lock %v is held", l)
		case !tx.f.taken[l.Entity]:
			tx.f.locks = slices.DeleteFunc(tx.f.locks, func(o sqlsweep.Lock) bool { return o.Entity == l.Entity })
			n++
		}
	}
	return n, nil
}

// Finished implements sqlsweep.Tx.
func (tx *fakeTx) Finished(_ context.Context, id journal.ID, run journal.RunID) (uint64, error) {
	r := tx.find(journal.KeyOf(id, run))
	if r == nil || r.ID != id || tx.f.live[r.key()] {
		return 0, journal.ErrNotFound
	}
	return r.Superseded, nil
}

// LeaveLink implements sqlsweep.Tx.
func (tx *fakeTx) LeaveLink(_ context.Context, run journal.RunKey) error {
	tx.linked++
	if tx.find(run) == nil {
		return tx.f.fault("a link to %v behind its end", run)
	}
	tx.f.links = append(tx.f.links, run)
	return tx.behind("link", run.Shard)
}

// Retired implements sqlsweep.Tx.
func (tx *fakeTx) Retired(_ context.Context, limit int) ([]sqlsweep.Retired, error) {
	return page(tx.f.retired, limit, func(r sqlsweep.Retired) bool { return tx.own.Has(r.Shard) }), nil
}

// Forget implements sqlsweep.Tx.
func (tx *fakeTx) Forget(_ context.Context, run journal.RunKey) error {
	i := slices.IndexFunc(tx.f.retired, func(r sqlsweep.Retired) bool { return r.RunKey == run })
	if i < 0 {
		return tx.f.fault("no run %v to forget", run)
	}
	for _, key := range tablesOf(tx.f.retired[i]) {
		if len(tx.f.rows[key]) > 0 {
			return tx.f.fault("run %v is forgotten before its rows", run)
		}
	}
	tx.f.retired = slices.Delete(tx.f.retired, i, i+1)
	tx.forgot++
	return tx.gone("run", run.Shard, 0)
}

// DeleteRows implements sqlsweep.Tx.
func (tx *fakeTx) DeleteRows(_ context.Context, rows *sqlsweep.Rows, room *sqlsweep.Room) (whole bool, err error) {
	var owner [][]byte
	for _, column := range rows.Owner {
		owner = append(owner, column.Value)
	}
	if tx.f.full && (room.Rows <= 0 || room.Bytes <= 0) {
		return false, nil
	}
	key := rowsKey(rows.Table, owner...)
	for ; len(tx.f.rows[key]) > 0 && room.Rows > 0 && room.Bytes > 0; room.Rows-- {
		size := tx.f.rows[key][0]
		if err := tx.gone(rows.Table, rows.Shard, size); err != nil {
			return false, err
		}
		tx.f.rows[key] = tx.f.rows[key][1:]
		room.Bytes -= size
	}
	return len(tx.f.rows[key]) == 0, nil
}

// DeleteMail implements sqlsweep.Tx.
func (tx *fakeTx) DeleteMail(_ context.Context, lost []sqlsweep.MailPlace) (n int, err error) {
	for _, l := range lost {
		i := slices.IndexFunc(tx.f.mail, func(m sqlsweep.Mail) bool { return m.MailPlace == l })
		if i < 0 {
			continue // by another purge
		}
		if tx.f.mail[i].There {
			return 0, tx.f.fault("mail %v has a receiver", l)
		}
		if err := tx.gone("mail", l.To.ID.Shard(), 0); err != nil {
			return 0, err
		}
		tx.f.mail = slices.Delete(tx.f.mail, i, i+1)
		n++
	}
	return n, nil
}
