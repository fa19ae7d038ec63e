package postgres

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
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
		b.Queue(
			stmtLocks, put.shards, put.ids, namespaces, types, names, holders.ids, holders.runs, holders.steps, since,
		)
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
	return `SELECT ` + sqlread.LockColumns + `, e.workflow, e.key FROM (SELECT * FROM ` + st.locks + ` l WHERE ` +
		behind + ` LIMIT $3) AS l
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
func (s *Store) Locks(
	ctx context.Context, f journal.LockFilter,
) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
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

// Locks implements sqlsweep.Tx.
func (tx *ownedTx) Locks(ctx context.Context, after journal.ID, limit int) ([]sqlsweep.Lock, error) {
	rows, err := tx.Query(ctx, tx.sql.locksQuery(""), int16(after.Shard()), after[:], limit, "")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sqlsweep.Lock, error) {
		var l lookedAt
		err := scanLookedAt(row, &l)
		return sqlsweep.Lock{Lock: l.Lock, Held: l.held}, err
	})
}

// DeleteLocks implements sqlsweep.Tx.
func (tx *ownedTx) DeleteLocks(ctx context.Context, gone []sqlsweep.Lock) (int, error) {
	if len(gone) == 0 {
		return 0, nil
	}
	var k keys
	var holders callers
	for i := range gone {
		k.add(gone[i].Entity)
		holders.add(gone[i].Holder)
	}
	tag, err := tx.Exec(
		ctx,
		`DELETE FROM `+tx.sql.locks+
			` l USING unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[]) AS d (shard, id, run, step)
		WHERE l.shard = d.shard AND l.id = d.id AND l.holder_run = d.run AND l.holder_step = d.step`,
		k.shards,
		k.ids,
		holders.runs,
		holders.steps,
	)
	return int(tag.RowsAffected()), err
}
