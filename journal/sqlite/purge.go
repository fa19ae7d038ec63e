package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// sweepRoom is how much one transaction may still delete. Everything else waits for it.
type sweepRoom struct{ rows, bytes int64 }

func (r *sweepRoom) left() bool { return r.rows > 0 && r.bytes > 0 }

// ownedRows are the rows of a table that belong to a run, a chain or an execution, in the order of
// a key.
type ownedRows struct{ table, owner, key, size string }

// delete deletes them, or as many as there is room for. It reports whether none are left.
func (o *ownedRows) delete(conn *sqlite.Conn, bind func(*sqlite.Stmt), room *sweepRoom) (whole bool, err error) {
	const last = 9 // a parameter that no owner has
	rows, cut := int64(0), false
	err = run(conn, "SELECT "+o.key+", "+o.size+" FROM "+o.table+" WHERE "+o.owner+" ORDER BY "+o.key, bind, func(row *sqlite.Stmt) error {
		if cut = !room.left(); cut {
			return errEnough
		}
		rows++
		room.rows--
		room.bytes -= row.ColumnInt64(1)
		return nil
	})
	if err != nil || rows == 0 {
		return !cut, err
	}
	return !cut, run(conn, "DELETE FROM "+o.table+" WHERE "+o.owner+" AND "+o.key+" <= (SELECT "+o.key+" FROM "+o.table+
		" WHERE "+o.owner+" ORDER BY "+o.key+" LIMIT 1 OFFSET ?9)", func(stmt *sqlite.Stmt) {
		bind(stmt)
		stmt.BindInt64(last, rows-1)
	}, nil)
}

// What a run has, and what a chain of runs has in common.
var (
	rowsOfRun = []ownedRows{
		{"cruster_entries", "shard = ?1 AND run = ?2", "seq", "length(body)"},
		{"cruster_links", "shard = ?1 AND run = ?2", "step", "0"},
		{"cruster_hibernated", "shard = ?1 AND run = ?2", "run", "length(body)"},
		{"cruster_inputs", "shard = ?1 AND run = ?2", "run", "coalesce(length(input), 0)"},
	}
	publishedOfChain = ownedRows{"cruster_published", "shard = ?1 AND run = ?2", "run", "length(body)"}
	inboxOf          = ownedRows{"cruster_inbox", "shard = ?1 AND id = ?2 AND chain = ?3", "position", "bytes"}
)

// selectRetired finds runs that are gone. A start whose answer was lost, and that is repeated after its run was
// deleted, has the run again: that one is left alone.
const selectRetired = `SELECT shard, run, id, chain FROM cruster_retired r WHERE holds = 0
	AND NOT EXISTS (SELECT 1 FROM cruster_executions e WHERE e.shard = r.shard AND e.run = r.run)`

// retired is a run that is gone.
type retired struct {
	key   journal.RunKey
	id    journal.ID
	chain journal.RunID // zero if another run has continued it
}

// Purge implements journal.Store.
func (s *Store) Purge(ctx context.Context, own []journal.Fence, limit int) (n int, err error) {
	for more := true; more && n < limit; {
		room := sweepRoom{rows: int64(min(journal.SweepEntries, limit-n)), bytes: journal.SweepBytes}
		before := room.rows
		err := s.writeOwned(ctx, own, func(tx *ownedTx) (err error) {
			s.mail.forget()
			more, err = purge(tx, &room)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("sqlite: purge: %w", err)
		}
		n += int(before - room.rows)
	}
	results, err := s.purgeMail(ctx, own, limit-n)
	if err != nil {
		return n, fmt.Errorf("sqlite: purge: %w", err)
	}
	return n + results, nil
}

// purge deletes rows of runs that are gone, and tells whether there may be more.
func purge(tx *ownedTx, room *sweepRoom) (more bool, err error) {
	var gone []retired
	err = run(tx.Conn, selectRetired, nil, func(row *sqlite.Stmt) error {
		r := retired{key: columnRunKey(row, 0), id: columnID(row, 2)}
		row.ColumnBytes(3, r.chain[:])
		if tx.own.Has(r.key.Shard) {
			gone = append(gone, r)
		}
		if len(gone) == journal.SweepBatch {
			return errEnough
		}
		return nil
	})
	for i := range gone {
		if err != nil || !room.left() {
			return true, err
		}
		whole := false
		if err = tx.check(gone[i].key.Shard); err == nil {
			whole, err = gone[i].purge(tx.Conn, room)
		}
		if err == nil && whole && room.left() {
			room.rows--
			err = exec(tx.Conn, "DELETE FROM cruster_retired WHERE shard = ?1 AND run = ?2", gone[i].key)
		}
	}
	return len(gone) > 0, err
}

// selectMail lists results and requests behind a place, each with whether its receiver is there.
const selectMail = `SELECT i.id, i.chain, i.position, EXISTS (
		SELECT 1 FROM cruster_executions e WHERE e.shard = i.shard AND e.id = i.id AND coalesce(e.chain, e.run) = i.chain)
	FROM cruster_inbox i INDEXED BY cruster_inbox_mail
	WHERE i.kind IN ('result', 'interrupt', 'terminate') AND (i.shard, i.id, i.chain, i.position) > (?1, ?2, ?3, ?4) ORDER BY i.shard, i.id, i.chain, i.position LIMIT ?5`

// mailPlace is where a message is.
type mailPlace struct {
	to       journal.Receiver
	position uint64
}

// purgeMail looks at a few results and requests, behind those that were looked at last, and deletes those whose receivers were gone when
// they came. There is a result for each caller that has not taken it yet: to look at all of them each time would leave time
// for little else. It looks without the writer.
func (s *Store) purgeMail(ctx context.Context, own journal.Owned, limit int) (n int, err error) {
	s.purging.Lock()
	defer s.purging.Unlock()
	for seen, more := 0, true; more && n < limit && seen < journal.PurgeExamines; seen += journal.SweepEntries {
		after, lost, page, found := s.purged, []mailPlace(nil), min(journal.SweepEntries, limit-n), 0
		err := s.read(ctx, func(conn *sqlite.Conn) error {
			return run(conn, selectMail, values(after.to, after.position, page), func(row *sqlite.Stmt) error {
				found++
				after = mailPlace{to: journal.Receiver{ID: columnID(row, 0)}, position: uint64(row.ColumnInt64(2))}
				row.ColumnBytes(1, after.to.Chain[:])
				if !row.ColumnBool(3) && own.Has(after.to.ID.Shard()) {
					lost = append(lost, after)
				}
				return nil
			})
		})
		if err == nil && len(lost) > 0 {
			err = s.writeOwned(ctx, own, func(tx *ownedTx) error { return s.deleteMail(tx, lost) })
		}
		if err != nil {
			return n, err
		}
		n += len(lost)
		if more = found == page; !more {
			after = mailPlace{} // from the beginning
		}
		s.purged = after
	}
	return n, nil
}

// deleteMail deletes messages. A receiver that is gone does not come back.
func (s *Store) deleteMail(tx *ownedTx, lost []mailPlace) error {
	s.mail.forget()
	for i := range lost {
		if err := tx.check(lost[i].to.ID.Shard()); err != nil {
			return err
		}
		if err := exec(tx.Conn, deleteMessage, lost[i].to, lost[i].position); err != nil {
			return err
		}
	}
	return nil
}

// purge deletes the rows of a run that is gone, and reports whether none are left.
func (r *retired) purge(conn *sqlite.Conn, room *sweepRoom) (whole bool, err error) {
	for i := range rowsOfRun {
		if whole, err = rowsOfRun[i].delete(conn, values(r.key), room); err != nil || !whole {
			return false, err
		}
	}
	whole, err = inboxOf.delete(conn, values(journal.SettlementsOf(r.id, r.key.Run)), room)
	if err != nil || !whole || r.chain.IsZero() {
		return whole, err
	}
	whole, err = publishedOfChain.delete(conn, values(journal.RunKey{Shard: r.key.Shard, Run: r.chain}), room)
	if err != nil || !whole {
		return false, err
	}
	return inboxOf.delete(conn, values(journal.Receiver{ID: r.id, Chain: r.chain}), room)
}
