package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// giveUpRows is what runs do not wait for any more.
type giveUpRows struct {
	runKeys
	steps, reasons [][]byte
	at             []int64
}

func (r *giveUpRows) add(w *journal.Write) {
	for i := range w.GiveUp {
		g := &w.GiveUp[i]
		r.runKeys.add(w.ID, w.Run)
		r.steps = append(r.steps, g.Step[:])
		r.at = append(r.at, g.At)
		r.reasons = append(r.reasons, []byte(g.Reason))
	}
}

func (r *giveUpRows) queue(b *pgx.Batch) {
	if r.len() > 0 {
		b.Queue(stmtGiveUps, r.shards, r.ids, r.runs, r.steps, r.at, r.reasons)
	}
}

// GivenUp implements journal.Store.
func (s *Store) GivenUp(ctx context.Context, after journal.Caller, limit int) ([]journal.GivenUp, error) {
	scan := func(row pgx.CollectableRow) (g journal.GivenUp, err error) {
		var id, run, step, reason []byte
		if err := row.Scan(&id, &run, &step, &g.At, &reason); err != nil {
			return g, err
		}
		copy(g.Run[:], run)
		copy(g.Step[:], step)
		g.Reason = string(reason)
		return g, decodeID(id, &g.ID)
	}
	return readAll(ctx, s, scan, "what was given up",
		`SELECT id, run, step, at, reason FROM `+s.sql.givenUp+` WHERE (shard, id, run, step) > ($1, $2, $3, $4)
		ORDER BY shard, id, run, step LIMIT $5`, int16(after.ID.Shard()), after.ID[:], after.Run[:], after.Step[:], max(limit, 0))
}

// DropGivenUp implements journal.Store.
func (s *Store) DropGivenUp(ctx context.Context, f journal.Fence, id journal.ID, run journal.RunID, steps []journal.StepID) error {
	all := make([][]byte, len(steps))
	for i := range steps {
		all[i] = steps[i][:]
	}
	return s.writeOwned(ctx, "postgres: drop what "+id.String()+" has given up", f, id.Shard(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM `+s.sql.givenUp+` WHERE shard = $1 AND id = $2 AND run = $3 AND step = ANY($4)`,
			int16(id.Shard()), id[:], run[:], all)
		return err
	})
}

// Children implements journal.Store.
func (s *Store) Children(ctx context.Context, run journal.RunID, after journal.ID, limit int) ([]journal.Execution, error) {
	return readAll(ctx, s, scanExecution, "children of a run",
		`SELECT `+executionColumns+` FROM `+s.sql.executions+` WHERE parent_run = $1 AND state IN ('running', 'paused') AND id > $2
		ORDER BY id LIMIT $3`, run[:], after[:], max(limit, 0))
}
