package postgres

import (
	"context"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// Earlier implements journal.Store.
func (s *Store) Earlier(ctx context.Context, id journal.ID, before uint64, limit int) ([]journal.Execution, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	scan := func(row pgx.CollectableRow) (journal.Execution, error) {
		e, err := scanExecution(row)
		return journal.Listed(e), err
	}
	return readAll(ctx, s, scan, "earlier runs of "+id.String(), `SELECT `+pageColumns+` FROM `+s.sql.executions+`
		WHERE shard = $1 AND id = $2 AND superseded > 0 AND superseded < $3 ORDER BY superseded DESC LIMIT $4`,
		int16(id.Shard()), id[:], int64(min(before, math.MaxInt64)), max(limit, 0))
}

// Requested implements journal.Store.
func (s *Store) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	var e *journal.Execution
	err := journal.ErrNotFound
	for _, which := range []string{`superseded = 0`, `superseded > 0`} { // by an index each
		if errors.Is(err, journal.ErrNotFound) {
			e, err = readOne(ctx, s, scanBrief, "run by its request", `SELECT `+briefColumns+` FROM `+s.sql.executions+`
				WHERE shard = $1 AND id = $2 AND `+which+` AND request = $3 LIMIT 1`, int16(id.Shard()), id[:], request[:])
		}
	}
	return e, err
}

// FindRun implements journal.Store.
func (s *Store) FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return readOne(ctx, s, scanExecution, "run "+run.String(), `SELECT `+executionColumns+` FROM `+s.sql.executions+`
		WHERE shard = $1 AND id = $2 AND (run = $3 OR chain = $3) ORDER BY superseded LIMIT 1`, int16(id.Shard()), id[:], run[:])
}
