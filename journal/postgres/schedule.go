package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// writeOwned runs a transaction of the owner of a shard. The lock and the check are two
// statements, for the reason that Commit gives.
func (s *Store) writeOwned(
	ctx context.Context, op string, f journal.Fence, shard journal.Shard,
	call func(ctx context.Context, tx pgx.Tx) error,
) error {
	if err := s.resolveInDoubt(ctx); err != nil {
		return fmt.Errorf("%s: %w: %w", op, journal.ErrUnavailable, err)
	}
	err := s.use(ctx, s.writes, s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		if err != nil {
			return err
		}
		defer s.rollback(ctx, conn.Conn())
		b := &pgx.Batch{}
		b.Queue(stmtLock)
		b.Queue(stmtFenceRow, int16(shard), int64(f.Epoch), f.Token[:])
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if err := call(ctx, tx); err != nil {
			return err
		}
		return s.sendWithCommit(ctx, conn.Conn(), &pgx.Batch{})
	})
	switch {
	case sqlState(err) == stateFenced:
		return fmt.Errorf("%s: %w", op, journal.ErrFenced)
	case errors.Is(err, journal.ErrUndecided):
		return fmt.Errorf("%s: %w", op, err)
	default:
		return beforeCommit(op, err)
	}
}

// SaveSchedule implements journal.Store.
func (s *Store) SaveSchedule(ctx context.Context, f journal.Fence, sched journal.Schedule, most int) error {
	if !isText(sched.Namespace) || !isText(sched.Name) {
		return abi.Errorf(abi.CodeBadRequest, "the name of a schedule is not text")
	}
	id := sched.ID()
	return s.writeOwned(
		ctx,
		"postgres: save schedule "+sched.Name,
		f,
		id.Shard(),
		func(ctx context.Context, tx pgx.Tx) error {
			if sched.Version == 1 {
				return s.insertSchedule(ctx, tx, &sched, most)
			}
			tag, err := tx.Exec(ctx,
				`UPDATE `+s.sql.schedules+` SET version = $3, wake_at = $4, body = $5, input = $6
			WHERE shard = $1 AND id = $2 AND version = $3 - 1`,
				int16(id.Shard()),
				id[:],
				sched.Version,
				sched.WakeAt,
				sched.Body(),
				sched.Input,
			)
			if err == nil && tag.RowsAffected() == 0 {
				err = journal.ErrStale
			}
			return err
		},
	)
}

// insertSchedule inserts one if there is room. Inserts of one namespace go one after the other, so that they are
// counted right.
func (s *Store) insertSchedule(ctx context.Context, tx pgx.Tx, sched *journal.Schedule, most int) error {
	if _, err := tx.Exec(
		ctx, `SELECT pg_advisory_xact_lock($1)`, lockKey("schedules", s.config.Schema, sched.Namespace),
	); err != nil {
		return err
	}
	id := sched.ID()
	var exists bool
	var there int
	if err := tx.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM `+s.sql.schedules+` WHERE shard = $1 AND id = $2),
			(SELECT count(*) FROM `+s.sql.schedules+` WHERE namespace = $3)`,
		int16(id.Shard()),
		id[:],
		sched.Namespace,
	).Scan(&exists, &there); err != nil {
		return err
	}
	switch {
	case exists:
		return journal.ErrStale
	case there >= most:
		return journal.ErrTooMany
	}
	_, err := tx.Exec(
		ctx,
		`INSERT INTO `+s.sql.schedules+
			` (shard, id, version, wake_at, body, input, namespace, name) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		int16(id.Shard()), id[:], sched.Version, sched.WakeAt, sched.Body(), sched.Input, sched.Namespace, sched.Name,
	)
	return err
}

// DeleteSchedule implements journal.Store.
func (s *Store) DeleteSchedule(ctx context.Context, f journal.Fence, id journal.ID, version int64) error {
	return s.writeOwned(
		ctx,
		"postgres: delete schedule "+id.String(),
		f,
		id.Shard(),
		func(ctx context.Context, tx pgx.Tx) error {
			tag, err := tx.Exec(
				ctx, `DELETE FROM `+s.sql.schedules+` WHERE shard = $1 AND id = $2 AND version = $3`, int16(id.Shard()),
				id[:], version,
			)
			if err == nil && tag.RowsAffected() == 0 {
				err = journal.ErrStale
			}
			return err
		},
	)
}
