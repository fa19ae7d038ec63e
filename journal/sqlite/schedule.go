package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
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

// checkFence refuses a fence that does not own the shard.
func checkFence(conn *sqlite.Conn, f journal.Fence, shard journal.Shard) error {
	current, err := readFence(conn, shard)
	if err == nil && f != current {
		err = journal.ErrFenced
	}
	return err
}

func insertSchedule(conn *sqlite.Conn, sched *journal.Schedule, most int) error {
	id := sched.ID()
	version, err := selectOne(conn, scanInt, "SELECT version FROM cruster_schedules WHERE shard = ?1 AND id = ?2", id)
	if err != nil {
		return err
	}
	if version != nil {
		return journal.ErrStale
	}
	there, err := selectOne(
		conn, scanInt, "SELECT count(*) FROM cruster_schedules WHERE namespace = ?1", sched.Namespace,
	)
	if err != nil {
		return err
	}
	if *there >= int64(most) {
		return journal.ErrTooMany
	}
	return run(conn,
		`INSERT INTO cruster_schedules (shard, id, version, wake_at, body, input, namespace, name)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
		values(id, sched.Version, sched.WakeAt, sched.Body(), sched.Input, sched.Namespace, sched.Name),
		nil,
	)
}

func updateSchedule(conn *sqlite.Conn, sched *journal.Schedule) error {
	err := run(conn,
		`UPDATE cruster_schedules SET version = ?3, wake_at = ?4, body = ?5, input = ?6
		WHERE shard = ?1 AND id = ?2 AND version = ?3 - 1`,
		values(sched.ID(), sched.Version, sched.WakeAt, sched.Body(), sched.Input),
		nil,
	)
	if err == nil && conn.Changes() == 0 {
		err = journal.ErrStale
	}
	return err
}

// DeleteSchedule implements journal.Store.
func (s *Store) DeleteSchedule(ctx context.Context, f journal.Fence, id journal.ID, version int64) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := checkFence(conn, f, id.Shard()); err != nil {
			return err
		}
		err := run(
			conn, "DELETE FROM cruster_schedules WHERE shard = ?1 AND id = ?2 AND version = ?3", values(id, version),
			nil,
		)
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

// DueSchedules implements journal.Store.
func (s *Store) DueSchedules(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return sqlread.All(ctx, s.reader, sqlread.ScanWake, "due schedules", nil,
		`SELECT id, wake_at FROM cruster_schedules WHERE wake_at <= ?1 AND (wake_at, id) > (?2, ?3)
		ORDER BY wake_at, id LIMIT +?4`, until, after.At, after.ID[:], max(limit, 0))
}
