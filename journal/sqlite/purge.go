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
		{"cruster_deferreds", "shard = ?1 AND run = ?2", "name", "coalesce(length(value), 0) + coalesce(length(error), 0)"},
		{"cruster_links", "shard = ?1 AND run = ?2", "step", "0"},
		{"cruster_hibernated", "shard = ?1 AND run = ?2", "run", "length(body)"},
		{"cruster_inputs", "shard = ?1 AND run = ?2", "run", "coalesce(length(input), 0)"},
	}
	publishedOfChain = ownedRows{"cruster_published", "shard = ?1 AND run = ?2", "run", "length(body)"}
	inboxOfChain     = ownedRows{"cruster_inbox", "shard = ?1 AND id = ?2 AND chain = ?3", "position", "bytes"}
)

// selectRetired finds runs that are gone. A start whose answer was lost, and that is repeated after its run was
// deleted, has the run again: that one is left alone.
const selectRetired = `SELECT shard, run, id, chain FROM cruster_retired r WHERE holds = 0
	AND NOT EXISTS (SELECT 1 FROM cruster_executions e WHERE e.shard = r.shard AND e.run = r.run) LIMIT ?1`

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
		err := s.writeFenced(ctx, own, func(conn *sqlite.Conn) (err error) {
			s.mail.forget()
			if more, err = purge(conn, &room); err == nil && !more && room.left() {
				more, err = purgeMail(conn, &room)
			}
			return err
		})
		if err != nil {
			return n, fmt.Errorf("sqlite: purge: %w", err)
		}
		n += int(before - room.rows)
	}
	return n, nil
}

// purge deletes rows of runs that are gone, and tells whether there may be more.
func purge(conn *sqlite.Conn, room *sweepRoom) (more bool, err error) {
	var gone []retired
	err = run(conn, selectRetired, func(stmt *sqlite.Stmt) { stmt.BindInt64(1, journal.SweepBatch) }, func(row *sqlite.Stmt) error {
		r := retired{key: columnRunKey(row, 0), id: columnID(row, 2)}
		row.ColumnBytes(3, r.chain[:])
		gone = append(gone, r)
		return nil
	})
	for i := range gone {
		if err != nil || !room.left() {
			return true, err
		}
		var whole bool
		if whole, err = gone[i].purge(conn, room); err == nil && whole {
			room.rows--
			err = run(conn, "DELETE FROM cruster_retired WHERE shard = ?1 AND run = ?2", func(stmt *sqlite.Stmt) { bindRun(stmt, gone[i].key) }, nil)
		}
	}
	return len(gone) > 0, err
}

const deleteLostMail = `DELETE FROM cruster_inbox WHERE (shard, id, chain, position) IN (
	SELECT i.shard, i.id, i.chain, i.position FROM cruster_inbox i INDEXED BY cruster_inbox_mail WHERE i.kind IN ('result', 'interrupt', 'terminate') AND NOT EXISTS (
		SELECT 1 FROM cruster_executions e WHERE e.shard = i.shard AND e.id = i.id AND coalesce(e.chain, e.run) = i.chain) LIMIT ?1)`

// purgeMail deletes results and requests whose receivers were gone when they came, and tells whether there may be more.
func purgeMail(conn *sqlite.Conn, room *sweepRoom) (more bool, err error) {
	err = run(conn, deleteLostMail, func(stmt *sqlite.Stmt) { stmt.BindInt64(1, room.rows) }, nil)
	gone := int64(conn.Changes())
	more = gone == room.rows
	room.rows -= gone
	return more && err == nil, err
}

// purge deletes the rows of a run that is gone, and reports whether none are left.
func (r *retired) purge(conn *sqlite.Conn, room *sweepRoom) (whole bool, err error) {
	for i := range rowsOfRun {
		if whole, err = rowsOfRun[i].delete(conn, func(stmt *sqlite.Stmt) { bindRun(stmt, r.key) }, room); err != nil || !whole {
			return false, err
		}
	}
	if r.chain.IsZero() {
		return true, nil
	}
	whole, err = publishedOfChain.delete(conn, func(stmt *sqlite.Stmt) { bindRun(stmt, journal.RunKey{Shard: r.key.Shard, Run: r.chain}) }, room)
	if err != nil || !whole {
		return false, err
	}
	return inboxOfChain.delete(conn, func(stmt *sqlite.Stmt) { bindReceiver(stmt, journal.Receiver{ID: r.id, Chain: r.chain}) }, room)
}
