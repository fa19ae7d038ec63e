package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
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
		b.Queue(stmtLocks, put.shards, put.ids, namespaces, types, names, holders.ids, holders.runs, holders.steps, since)
	}
	if gone.len() > 0 {
		b.Queue(stmtUnlocks, gone.shards, gone.ids)
	}
}

const lockColumns = `l.id, l.namespace, l.type, l.key, l.holder, l.holder_run, l.holder_step, l.since`

// scanLock reads the columns of a lock, and others behind them.
func scanLock(row pgx.CollectableRow, more ...any) (l journal.Lock, err error) {
	var id, holder, run, step []byte
	err = row.Scan(append([]any{&id, &l.Namespace, &l.Type, &l.Key, &holder, &run, &step, &l.Since}, more...)...)
	if err != nil {
		return l, err
	}
	l.Holder = callerOf(holder, run, step)
	return l, decodeID(id, &l.Entity)
}

// Lock implements journal.Store.
func (s *Store) Lock(ctx context.Context, entity journal.ID) (*journal.Lock, error) {
	scan := func(row pgx.CollectableRow) (journal.Lock, error) { return scanLock(row) }
	return readOne(ctx, s, scan, "lock of entity "+entity.String(), s.sql.lockQuery(), int16(entity.Shard()), entity[:])
}

func (st *statements) lockQuery() string {
	return `SELECT ` + lockColumns + ` FROM ` + st.locks + ` l WHERE l.shard = $1 AND l.id = $2`
}

// LockedEntity implements journal.Store. It is what an entity is loaded with, so it is one round trip.
func (s *Store) LockedEntity(ctx context.Context, id journal.ID) (entity *journal.Entity, lock *journal.Lock, err error) {
	if err := s.resolveInDoubt(ctx); err != nil {
		return nil, nil, err
	}
	err = s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		entity, lock = nil, nil // of a connection that was lost
		b := &pgx.Batch{}
		b.Queue(s.sql.entityQuery(), int16(id.Shard()), id[:]).Query(func(rows pgx.Rows) (err error) {
			entity, err = maybeOne(rows, scanEntity)
			return err
		})
		b.Queue(s.sql.lockQuery(), int16(id.Shard()), id[:]).Query(func(rows pgx.Rows) (err error) {
			lock, err = maybeOne(rows, func(row pgx.CollectableRow) (journal.Lock, error) { return scanLock(row) })
			return err
		})
		return conn.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return nil, nil, fmt.Errorf("postgres: read entity %s and its lock: %w", id, err)
	}
	return entity, lock, nil
}

// maybeOne reads a row; nil if there is none.
func maybeOne[T any](rows pgx.Rows, scan pgx.RowToFunc[T]) (*T, error) {
	v, err := pgx.CollectOneRow(rows, scan)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, err
	}
	return &v, nil
}

// InSection implements journal.Store.
func (s *Store) InSection(ctx context.Context, step journal.Caller) (bool, error) {
	in, err := readOne(ctx, s, pgx.RowTo[bool], "section of execution "+step.ID.String(), `SELECT EXISTS (SELECT FROM `+s.sql.executions+`
		WHERE shard = $1 AND run = $2 AND section = $3 AND state NOT IN `+final+`)`,
		int16(step.ID.Shard()), step.Run[:], step.Step[:])
	return in != nil && *in, err
}

// locksQuery lists locks behind one, of one namespace or of all, each with the name of the
// execution that holds it: NULL if none does.
func (st *statements) locksQuery(namespace string) string {
	behind := `(l.shard, l.id) > ($1, $2) AND $4 = '' ORDER BY l.shard, l.id`
	if namespace != "" {
		behind = `l.namespace = $4 AND l.id > $2 AND $1 >= 0::int2 ORDER BY l.id`
	}
	return `SELECT ` + lockColumns + `, e.workflow, e.key FROM (SELECT * FROM ` + st.locks + ` l WHERE ` + behind + ` LIMIT $3) AS l
		LEFT JOIN ` + st.executions + ` e ON e.shard = ` + shardOf("l.holder") + ` AND e.run = l.holder_run
			AND e.section = l.holder_step AND e.state NOT IN ` + final + `
		ORDER BY l.id`
}

// lookedAt is a lock, and whether it is held.
type lookedAt struct {
	journal.HeldLock
	held bool
}

func scanLookedAt(row pgx.CollectableRow) (l lookedAt, err error) {
	var workflow, key *string
	l.Lock, err = scanLock(row, &workflow, &key)
	if l.held = workflow != nil && key != nil; l.held {
		e := journal.Execution{Workflow: *workflow, Key: *key}
		l.HolderName = e.Name()
	}
	return l, err
}

// Locks implements journal.Store.
func (s *Store) Locks(ctx context.Context, f journal.LockFilter) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	limit, err := f.Size()
	if err != nil {
		return nil, journal.ID{}, false, err
	}
	if !isText(f.Namespace) {
		return nil, journal.ID{}, false, abi.Errorf(abi.CodeBadRequest, "%q is not text", f.Namespace)
	}
	found, err := readAll(ctx, s, scanLookedAt, "locks", s.sql.locksQuery(f.Namespace), int16(f.After.Shard()), f.After[:], limit+1, f.Namespace)
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
		l, err := scanLookedAt(row)
		return sqlsweep.Lock{Lock: l.Lock, Held: l.held}, err
	})
}

// DeleteLocks implements sqlsweep.Tx.
func (tx *ownedTx) DeleteLocks(ctx context.Context, gone []sqlsweep.Lock) (int, error) {
	var k keys
	var holders callers
	for i := range gone {
		k.add(gone[i].Entity)
		holders.add(gone[i].Holder)
	}
	tag, err := tx.Exec(ctx, `DELETE FROM `+tx.sql.locks+` l USING unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[]) AS d (shard, id, run, step)
		WHERE l.shard = d.shard AND l.id = d.id AND l.holder_run = d.run AND l.holder_step = d.step`, k.shards, k.ids, holders.runs, holders.steps)
	return int(tag.RowsAffected()), err
}
