package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// SaveSchedule implements journal.Store.
func (s *Store) SaveSchedule(ctx context.Context, f journal.Fence, sched journal.Schedule, most int) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := checkFence(conn, f, sched.ID().Shard()); err != nil {
			return err
		}
		if sched.Version == 1 {
			return insertSchedule(conn, &sched, most)
		}
		return updateSchedule(conn, &sched)
	})
	if err != nil {
		return fmt.Errorf("sqlite: save schedule %q: %w", sched.Name, err)
	}
	return nil
}

// checkFence refuses who is not the owner of the shard.
func checkFence(conn *sqlite.Conn, f journal.Fence, shard journal.Shard) error {
	current, err := readFence(conn, shard)
	if err == nil && f != current {
		err = journal.ErrFenced
	}
	return err
}

func insertSchedule(conn *sqlite.Conn, sched *journal.Schedule, most int) error {
	id := sched.ID()
	there, version := 0, int64(0)
	err := run(conn, "SELECT version FROM cruster_schedules WHERE shard = ?1 AND id = ?2", func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, id)
	}, func(row *sqlite.Stmt) error {
		version = row.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return err
	}
	if version != 0 {
		return journal.ErrStale
	}
	err = run(conn, "SELECT count(*) FROM cruster_schedules WHERE namespace = ?1", func(stmt *sqlite.Stmt) {
		stmt.BindText(1, sched.Namespace)
	}, func(row *sqlite.Stmt) error {
		there = row.ColumnInt(0)
		return nil
	})
	if err != nil {
		return err
	}
	if there >= most {
		return journal.ErrTooMany
	}
	return run(conn, `INSERT INTO cruster_schedules (shard, id, version, wake_at, body, input, namespace, name)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`, func(stmt *sqlite.Stmt) {
		bindSchedule(stmt, sched)
		stmt.BindText(7, sched.Namespace)
		stmt.BindText(8, sched.Name)
	}, nil)
}

func updateSchedule(conn *sqlite.Conn, sched *journal.Schedule) error {
	err := run(conn, `UPDATE cruster_schedules SET version = ?3, wake_at = ?4, body = ?5, input = ?6
		WHERE shard = ?1 AND id = ?2 AND version = ?3 - 1`, func(stmt *sqlite.Stmt) { bindSchedule(stmt, sched) }, nil)
	if err == nil && conn.Changes() == 0 {
		err = journal.ErrStale
	}
	return err
}

func bindSchedule(stmt *sqlite.Stmt, sched *journal.Schedule) {
	bindID(stmt, 1, 2, sched.ID())
	stmt.BindInt64(3, sched.Version)
	stmt.BindInt64(4, sched.WakeAt)
	stmt.BindBytes(5, sched.Body())
	bindBlob(stmt, 6, sched.Input)
}

// DeleteSchedule implements journal.Store.
func (s *Store) DeleteSchedule(ctx context.Context, f journal.Fence, id journal.ID, version int64) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := checkFence(conn, f, id.Shard()); err != nil {
			return err
		}
		err := run(conn, "DELETE FROM cruster_schedules WHERE shard = ?1 AND id = ?2 AND version = ?3", func(stmt *sqlite.Stmt) {
			bindID(stmt, 1, 2, id)
			stmt.BindInt64(3, version)
		}, nil)
		if err == nil && conn.Changes() == 0 {
			err = journal.ErrStale
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlite: delete schedule %s: %w", id, err)
	}
	return nil
}

// Schedule implements journal.Store.
func (s *Store) Schedule(ctx context.Context, id journal.ID) (*journal.Schedule, error) {
	found, err := s.schedules(ctx, "SELECT namespace, name, version, wake_at, body, input FROM cruster_schedules WHERE shard = ?1 AND id = ?2",
		func(stmt *sqlite.Stmt) { bindID(stmt, 1, 2, id) })
	if err == nil && len(found) == 0 {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: schedule %s: %w", id, err)
	}
	return &found[0], nil
}

// Schedules implements journal.Store.
func (s *Store) Schedules(ctx context.Context, namespace, after string, limit int) ([]journal.Schedule, error) {
	found, err := s.schedules(ctx, `SELECT namespace, name, version, wake_at, body, NULL FROM cruster_schedules
		WHERE namespace = ?1 AND name > ?2 ORDER BY name LIMIT ?3`, func(stmt *sqlite.Stmt) {
		stmt.BindText(1, namespace)
		stmt.BindText(2, after)
		stmt.BindInt64(3, int64(max(limit, 0)))
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: schedules of namespace %q: %w", namespace, err)
	}
	return found, nil
}

func (s *Store) schedules(ctx context.Context, query string, bind func(*sqlite.Stmt)) (found []journal.Schedule, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, query, bind, func(row *sqlite.Stmt) error {
			sched := journal.Schedule{
				Namespace: row.ColumnText(0), Name: row.ColumnText(1), Version: row.ColumnInt64(2), WakeAt: row.ColumnInt64(3), Input: blob(row, 5),
			}
			if err := sched.SetBody(blob(row, 4)); err != nil {
				return fmt.Errorf("schedule %q: %w", sched.Name, err)
			}
			found = append(found, sched)
			return nil
		})
	})
	return found, err
}

// DueSchedules implements journal.Store.
func (s *Store) DueSchedules(ctx context.Context, until int64, after journal.Wake, limit int) (due []journal.Wake, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, `SELECT id, wake_at FROM cruster_schedules WHERE wake_at <= ?1 AND (wake_at, id) > (?2, ?3)
			ORDER BY wake_at, id LIMIT ?4`, func(stmt *sqlite.Stmt) {
			stmt.BindInt64(1, until)
			stmt.BindInt64(2, after.At)
			stmt.BindBytes(3, after.ID[:])
			stmt.BindInt64(4, int64(max(limit, 0)))
		}, func(row *sqlite.Stmt) error {
			due = append(due, journal.Wake{ID: columnID(row, 0), At: row.ColumnInt64(1)})
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: due schedules: %w", err)
	}
	return due, nil
}
