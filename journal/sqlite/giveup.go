package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

func (b *batch) giveUp(w *journal.Write) error {
	for i := range w.GiveUp {
		g := &w.GiveUp[i]
		err := run(b.conn, `INSERT INTO cruster_given_up (shard, id, run, step, at, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT DO NOTHING`, func(stmt *sqlite.Stmt) {
			bindID(stmt, 1, 2, w.ID)
			stmt.BindBytes(3, w.Run[:])
			stmt.BindBytes(4, g.Step[:])
			stmt.BindInt64(5, g.At)
			stmt.BindBytes(6, []byte(g.Reason))
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// GivenUp implements journal.Store.
func (s *Store) GivenUp(ctx context.Context, after journal.Caller, limit int) (found []journal.GivenUp, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, `SELECT id, run, step, at, reason FROM cruster_given_up WHERE (shard, id, run, step) > (?1, ?2, ?3, ?4)
			ORDER BY shard, id, run, step LIMIT ?5`, func(stmt *sqlite.Stmt) {
			bindID(stmt, 1, 2, after.ID)
			stmt.BindBytes(3, after.Run[:])
			stmt.BindBytes(4, after.Step[:])
			stmt.BindInt64(5, int64(max(limit, 0)))
		}, func(row *sqlite.Stmt) error {
			g := journal.GivenUp{ID: columnID(row, 0)}
			row.ColumnBytes(1, g.Run[:])
			row.ColumnBytes(2, g.Step[:])
			g.At, g.Reason = row.ColumnInt64(3), string(blob(row, 4))
			found = append(found, g)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: what was given up: %w", err)
	}
	return found, nil
}

// DropGivenUp implements journal.Store.
func (s *Store) DropGivenUp(ctx context.Context, f journal.Fence, id journal.ID, of journal.RunID, steps []journal.StepID) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := checkFence(conn, f, id.Shard()); err != nil {
			return err
		}
		for _, step := range steps {
			err := run(conn, "DELETE FROM cruster_given_up WHERE shard = ?1 AND id = ?2 AND run = ?3 AND step = ?4", func(stmt *sqlite.Stmt) {
				bindID(stmt, 1, 2, id)
				stmt.BindBytes(3, of[:])
				stmt.BindBytes(4, step[:])
			}, nil)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sqlite: drop what execution %s has given up: %w", id, err)
	}
	return nil
}

const selectChildren = selectExecution + ` WHERE e.parent_run = ?1 AND e.state IN ('running', 'paused') AND e.id > ?2 ORDER BY e.id LIMIT ?3`

// Children implements journal.Store.
func (s *Store) Children(ctx context.Context, of journal.RunID, after journal.ID, limit int) (found []journal.Execution, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectChildren, func(stmt *sqlite.Stmt) {
			stmt.BindBytes(1, of[:])
			stmt.BindBytes(2, after[:])
			stmt.BindInt64(3, int64(max(limit, 0)))
		}, func(row *sqlite.Stmt) error {
			e, err := scanExecution(row)
			found = append(found, e)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: children of run %s: %w", of, err)
	}
	return found, nil
}
