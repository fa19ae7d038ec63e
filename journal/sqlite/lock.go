package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

const (
	lockColumns = "l.id, l.namespace, l.type, l.key, l.holder, l.holder_run, l.holder_step, l.since"

	selectLock = "SELECT " + lockColumns + " FROM cruster_locks l WHERE l.shard = ?1 AND l.id = ?2"

	// selectInSection tells whether a step is that of the section of a run which is not over,
	// and how its execution is called.
	selectInSection = `SELECT workflow, key FROM cruster_executions
		WHERE shard = ?1 AND run = ?2 AND section = ?3 AND state NOT IN ('completed', 'failed', 'interrupted')`

	selectLocks            = "SELECT " + lockColumns + " FROM cruster_locks l WHERE (l.shard, l.id) > (?1, ?2) ORDER BY l.shard, l.id LIMIT ?3"
	selectLocksOfNamespace = "SELECT " + lockColumns + " FROM cruster_locks l WHERE l.namespace = ?4 AND l.id > ?2 AND ?1 >= 0 ORDER BY l.id LIMIT ?3"
)

// putLock replaces the lock of an entity, or inserts it.
func (b *batch) putLock(l *journal.Lock) error {
	return exec(b.conn, `INSERT OR REPLACE INTO cruster_locks (shard, id, namespace, type, key, holder, holder_run, holder_step, since)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`, l.Entity, l.Namespace, l.Type, l.Key, l.Holder, l.Since)
}

func scanLock(row *sqlite.Stmt) (journal.Lock, error) {
	return journal.Lock{
		Entity: columnID(row, 0), Namespace: row.ColumnText(1), Type: row.ColumnText(2), Key: row.ColumnText(3),
		Holder: columnCaller(row, 4), Since: row.ColumnInt64(7),
	}, nil
}

// Lock implements journal.Store.
func (s *Store) Lock(ctx context.Context, entity journal.ID) (*journal.Lock, error) {
	return readOne(ctx, s, scanLock, "the lock of entity "+entity.String(), selectLock, entity)
}

// LockedEntity implements journal.Store.
func (s *Store) LockedEntity(ctx context.Context, id journal.ID) (entity *journal.Entity, lock *journal.Lock, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) (err error) {
		if err := run(conn, "BEGIN", nil, nil); err != nil {
			return err
		}
		defer rollback(conn)
		if entity, err = selectOne(conn, scanEntity, selectEntity, id); err != nil {
			return err
		}
		lock, err = selectOne(conn, scanLock, selectLock, id)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("sqlite: entity %s and its lock: %w", id, err)
	}
	return entity, lock, nil
}

// InSection implements journal.Store.
func (s *Store) InSection(ctx context.Context, step journal.Caller) (in bool, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		_, in, err = inSection(conn, step)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("sqlite: section of execution %s: %w", step.ID, err)
	}
	return in, nil
}

// inSection tells whether the run of a step is in its section, and the name of the execution.
func inSection(conn *sqlite.Conn, step journal.Caller) (name string, in bool, err error) {
	err = run(conn, selectInSection, values(journal.KeyOf(step.ID, step.Run), step.Step), func(row *sqlite.Stmt) error {
		e := journal.Execution{Workflow: row.ColumnText(0), Key: row.ColumnText(1)}
		name, in = e.Name(), true
		return nil
	})
	return name, in, err
}

// Locks implements journal.Store.
func (s *Store) Locks(ctx context.Context, f journal.LockFilter) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	limit, err := f.Size()
	if err != nil {
		return nil, journal.ID{}, false, err
	}
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		// All that is read is of one moment.
		if err := run(conn, "BEGIN", nil, nil); err != nil {
			return err
		}
		defer rollback(conn)
		found, err := locksBehind(conn, f.Namespace, f.After, limit+1)
		if err != nil {
			return err
		}
		if more = len(found) > limit; more {
			found = found[:limit]
		}
		for _, l := range found {
			after = l.Entity
			name, in, err := inSection(conn, l.Holder)
			if err != nil {
				return err
			}
			if in {
				locks = append(locks, journal.HeldLock{Lock: l, HolderName: name})
			}
		}
		return nil
	})
	if err != nil {
		return nil, journal.ID{}, false, fmt.Errorf("sqlite: locks: %w", err)
	}
	return locks, after, more, nil
}

// locksBehind lists locks in the order of their entities, held or not, of one namespace or
// of all.
func locksBehind(conn *sqlite.Conn, namespace string, after journal.ID, limit int) ([]journal.Lock, error) {
	if namespace != "" {
		return selectAll(conn, scanLock, selectLocksOfNamespace, after, limit, namespace)
	}
	return selectAll(conn, scanLock, selectLocks, after, limit)
}

// Locks implements sqlsweep.Tx.
func (tx *ownedTx) Locks(_ context.Context, after journal.ID, limit int) ([]sqlsweep.Lock, error) {
	found, err := locksBehind(tx.conn, "", after, limit)
	locks := make([]sqlsweep.Lock, len(found))
	for i := range found {
		if err == nil {
			locks[i].Lock = found[i]
			_, locks[i].Held, err = inSection(tx.conn, found[i].Holder)
		}
	}
	return locks, err
}

// DeleteLocks implements sqlsweep.Tx.
func (tx *ownedTx) DeleteLocks(_ context.Context, gone []sqlsweep.Lock) (int, error) {
	for i := range gone {
		if err := exec(tx.conn, "DELETE FROM cruster_locks WHERE shard = ?1 AND id = ?2", gone[i].Entity); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}
