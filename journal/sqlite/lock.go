package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
)

const (
	selectLocks = "SELECT " + sqlread.LockColumns + ` FROM cruster_locks l
		WHERE (l.shard, l.id) > (?1, ?2) ORDER BY l.shard, l.id LIMIT +?3`
	selectLocksOfNamespace = "SELECT " + sqlread.LockColumns + ` FROM cruster_locks l
		WHERE l.namespace = ?4 AND l.id > ?2 AND ?1 >= 0 ORDER BY l.id LIMIT +?3`
)

// putLock replaces the lock of an entity, or inserts it.
func (b *batch) putLock(l *journal.Lock) error {
	return exec(
		b.conn,
		`INSERT OR REPLACE INTO cruster_locks (shard, id, namespace, type, key, holder, holder_run, holder_step, since)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
		l.Entity,
		l.Namespace,
		l.Type,
		l.Key,
		l.Holder,
		l.Since,
	)
}

// inSection tells whether the run of a step is in its section, and the name of the execution.
func inSection(conn *sqlite.Conn, step journal.Caller) (name string, in bool, err error) {
	err = run(
		conn,
		reads.InSection,
		values(journal.KeyOf(step.ID, step.Run), step.Step),
		func(stmt *sqlite.Stmt) error {
			in = true
			return sqlread.ScanName(&row{stmt: stmt}, &name)
		},
	)
	return name, in, err
}

// Locks implements journal.Store.
func (s *Store) Locks(
	ctx context.Context, f journal.LockFilter,
) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
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

// locksBehind lists locks in the order of their entities, held or not, of one namespace or of all.
func locksBehind(conn *sqlite.Conn, namespace string, after journal.ID, limit int) ([]journal.Lock, error) {
	if namespace != "" {
		return selectAll(conn, scan(sqlread.ScanLock), selectLocksOfNamespace, after, limit, namespace)
	}
	return selectAll(conn, scan(sqlread.ScanLock), selectLocks, after, limit)
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
