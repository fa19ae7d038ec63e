package postgres

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// replaced is a run whose place another one takes.
//
// Its row is moved first, which locks it against all that is written of it (stmtHeld); what was
// written by then is there when the statement behind that one begins, and goes along. What comes
// later finds another run.
type replaced struct {
	id    journal.ID
	run   journal.RunID
	chain journal.RunID
}

func (r *replaced) queue(b *pgx.Batch) {
	var k runKeys
	k.add(r.id, r.run)
	aside := journal.EarlierOf(r.id, r.chain)
	b.Queue(stmtAside, k.shards, k.ids, k.runs, [][]byte{aside[:]}, k.len())
	b.Queue(stmtAsideRows, k.shards, k.ids, [][]byte{aside[:]})
}

// setAside notes that the run of an execution goes aside, with what is recorded of it and the
// messages that it has not taken.
func (snap *snapshot) setAside(write *journal.Write) {
	id := write.ID
	snap.replaced[write.Run] = &replaced{id: id, run: snap.executions[id], chain: snap.chains[id]}
	snap.forget(id)
	maps.DeleteFunc(snap.mail.mailed, func(k mailKey, _ bool) bool { return k.id == id })
	maps.DeleteFunc(snap.mail.messages, func(k entryKey, _ message) bool { return k.id == id })
	delete(snap.mail.tallies, id)
}

// Earlier implements journal.Store.
func (s *Store) Earlier(ctx context.Context, id journal.ID, after journal.Wake, limit int) ([]journal.Execution, error) {
	at, place := after.At, after.ID[:]
	if (after == journal.Wake{}) {
		at, place = math.MaxInt64, bytes.Repeat([]byte{0xff}, len(after.ID)+1)
	}
	scan := func(row pgx.CollectableRow) (journal.Execution, error) {
		e, err := scanExecution(row)
		return journal.Listed(e), err
	}
	return readAll(ctx, s, scan, "earlier runs of "+id.String(), `SELECT `+pageColumns+` FROM `+s.sql.executions+`
		WHERE earlier_of = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4`, id[:], at, place, max(limit, 0))
}

// Requested implements journal.Store.
func (s *Store) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	newest, err := readOne(ctx, s, scanExecution, "run by its request",
		`SELECT `+executionColumns+` FROM `+s.sql.executions+` WHERE shard = $1 AND id = $2 AND request = $3`, int16(id.Shard()), id[:], request[:])
	if !errors.Is(err, journal.ErrNotFound) {
		return newest, err
	}
	return readOne(ctx, s, scanExecution, "run by its request",
		`SELECT `+executionColumns+` FROM `+s.sql.executions+` WHERE earlier_of = $1 AND request = $2 LIMIT 1`, id[:], request[:])
}

// Delete implements journal.Store.
func (s *Store) Delete(ctx context.Context, own []journal.Fence, id journal.ID, run journal.RunID) error {
	w := &sweep{store: s}
	for more := true; more; {
		err := s.fenced(ctx, s.main, own, func(ctx context.Context, tx pgx.Tx) (err error) {
			more, err = w.deletePart(ctx, tx, id, run)
			return err
		})
		if err != nil {
			return afterCommit("postgres: delete "+id.String(), err)
		}
	}
	return nil
}

// deletePart deletes a run, or as much of it as one transaction may. Its row is locked first.
func (w *sweep) deletePart(ctx context.Context, tx pgx.Tx, id journal.ID, run journal.RunID) (more bool, err error) {
	sql := &w.store.sql
	var there bool
	err = tx.QueryRow(ctx, `SELECT true FROM `+sql.executions+` WHERE shard = $1 AND id = $2 AND run = $3 AND state IN `+final+` FOR UPDATE`,
		int16(id.Shard()), id[:], run[:]).Scan(&there)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, journal.ErrNotFound
	}
	if err != nil {
		return false, err
	}
	this := []expired{{id: id}}
	sizes, err := w.sizes(ctx, tx, this)
	if err != nil {
		return false, err
	}
	if whole, entries := journal.CutSweep(sizes); whole == 0 {
		return true, w.deleteSome(ctx, tx, id, entries)
	}
	for _, query := range []string{
		// The step that has started it, if its run is not over, finds that it was deleted.
		`INSERT INTO ` + sql.links + ` (shard, id, step, callee, callee_run)
		SELECT p.shard, p.id, e.parent_step, coalesce(e.earlier_of, e.id), coalesce(e.chain, e.run)
		FROM ` + sql.executions + ` e JOIN ` + sql.executions + ` p ON p.shard = get_byte(e.parent, 0) AND p.id = e.parent AND p.run = e.parent_run
		WHERE e.shard = $1 AND e.id = $2 AND p.state NOT IN ` + final + ` FOR KEY SHARE OF p ON CONFLICT DO NOTHING`,
		// What it holds is freed by a sweep.
		`INSERT INTO ` + sql.continued + ` (shard, run) SELECT shard, run FROM ` + sql.executions + ` WHERE shard = $1 AND id = $2 AND holds`,
	} {
		if _, err := tx.Exec(ctx, query, int16(id.Shard()), id[:]); err != nil {
			return false, err
		}
	}
	return false, w.deleteWhole(ctx, tx, this)
}
