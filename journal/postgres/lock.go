package postgres

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// queueLocks appends the statements that put and delete the locks of entities.
func queueLocks(b *pgx.Batch, locks map[journal.ID]*journal.Lock) {
	var put, gone keys
	var namespaces, types, names []string
	var holders callers
	var since []int64
	for _, id := range sortedIDs(maps.Keys(locks)) {
		l := locks[id]
		if l == nil {
			gone.add(id)
			continue
		}
		put.add(id)
		namespaces, types, names = append(namespaces, l.Namespace), append(types, l.Type), append(names, l.Key)
		holders.add(l.Holder)
		since = append(since, l.Since)
	}
	if put.len() > 0 {
		b.Queue(stmtLocks, put.shards, put.ids, namespaces, types, names, holders.ids, holders.runs, holders.steps, since)
	}
	if gone.len() > 0 {
		b.Queue(stmtUnlocks, gone.shards, gone.ids)
	}
}

// locksQuery lists locks behind one, of one namespace or of all, each with the name of the
// execution that holds it: NULL if none does.
func (st *statements) locksQuery(namespace string) string {
	behind := `(l.shard, l.id) > ($1, $2) AND $4 = '' ORDER BY l.shard, l.id`
	if namespace != "" {
		behind = `l.namespace = $4 AND l.id > $2 AND $1 >= 0::int2 ORDER BY l.id`
	}
	return `SELECT ` + sqlread.LockColumns + `, e.workflow, e.key FROM (SELECT * FROM ` + st.locks + ` l WHERE ` + behind + ` LIMIT $3) AS l
		LEFT JOIN ` + st.executions + ` e ON e.shard = ` + shardOf("l.holder") + ` AND e.run = l.holder_run
			AND e.section = l.holder_step AND e.state NOT IN ` + final + `
		ORDER BY l.id`
}

// lookedAt is a lock, and whether it is held.
type lookedAt struct {
	journal.HeldLock
	held bool
}

func scanLookedAt(row sqlread.Row, l *lookedAt) error {
	var workflow, key *string
	err := sqlread.ScanLockWith(row, &l.Lock, &workflow, &key)
	if l.held = workflow != nil && key != nil; l.held {
		e := journal.Execution{Workflow: *workflow, Key: *key}
		l.HolderName = e.Name()
	}
	return err
}

// Locks implements journal.Store.
func (s *Store) Locks(ctx context.Context, f journal.LockFilter) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	limit, err := f.Size()
	if err != nil {
		return nil, journal.ID{}, false, err
	}
	if err := s.sql.reads.CheckText(f.Namespace); err != nil {
		return nil, journal.ID{}, false, err
	}
	found, err := sqlread.All(ctx, s.reader, scanLookedAt, "locks", nil, s.sql.locksQuery(f.Namespace),
		int16(f.After.Shard()), f.After[:], limit+1, f.Namespace)
	if more = len(found) > limit; more {
		found = found[:limit]
	}
	for _, l := range found {
		after = l.Entity
		if l.held {
			locks = append(locks, l.HeldLock)
		}
	}
	return locks, after, more, err
}

// SweepLocks implements journal.Store. A section that is over is not entered again, so what is
// found not to be held can be deleted, if no other has taken its place meanwhile.
func (s *Store) SweepLocks(ctx context.Context, own []journal.Fence, limit int) (int, error) {
	w := &sweep{store: s, left: max(limit, 0)}
	if err := w.run(ctx, own, w.deleteLocks); err != nil {
		return 0, afterCommit("postgres: sweep locks", err)
	}
	return max(limit, 0) - w.left, nil
}

// deleteLocks looks at a few locks, and deletes those that are not held.
func (w *sweep) deleteLocks(ctx context.Context, tx *ownedTx) (more bool, err error) {
	sql := &w.store.sql
	rows, err := tx.Query(ctx, sql.locksQuery(""), int16(w.afterLock.Shard()), w.afterLock[:], journal.SweepBatch, "")
	if err != nil {
		return false, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l lookedAt, err error) {
		err = scanLookedAt(row, &l)
		return l, err
	})
	if err != nil || len(found) == 0 {
		return false, err
	}
	var k keys
	var holders callers
	for _, l := range found {
		if int(k.len()) == w.left {
			break
		}
		w.afterLock = l.Entity
		if shard := l.Entity.Shard(); !l.held && tx.own.Has(shard) {
			k.add(l.Entity)
			holders.add(l.Holder)
		}
	}
	if err := tx.check(ctx, k.shards...); err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, `DELETE FROM `+sql.locks+` l USING unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[]) AS d (shard, id, run, step)
		WHERE l.shard = d.shard AND l.id = d.id AND l.holder_run = d.run AND l.holder_step = d.step`, k.shards, k.ids, holders.runs, holders.steps)
	w.left -= int(tag.RowsAffected())
	return true, err
}
