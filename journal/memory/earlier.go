package memory

import (
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
)

// replaces tells whether a start takes the place of the run that is there.
func replaces(w *journal.Write, row *journal.Execution) bool {
	return row.Run == w.Replace && row.State.Final()
}

// supersedeLocked marks the run of an execution as superseded.
func (s *Store) supersedeLocked(id journal.ID) {
	old, before := *s.executions[id], s.superseded[id]
	old.row.Superseded = 1
	if len(before) > 0 {
		old.row.Superseded = before[len(before)-1].row.Superseded + 1
	}
	s.superseded[id] = append(before, &old)
}

// Earlier implements journal.Store.
func (s *Store) Earlier(ctx context.Context, id journal.ID, before uint64, limit int) ([]journal.Execution, error) {
	return alone(ctx, s, func() ([]journal.Execution, error) {
		var rows []journal.Execution
		for _, e := range slices.Backward(s.superseded[id]) {
			if before == 0 || e.row.Superseded < before {
				rows = append(rows, journal.Listed(cloneExecution(e.row)))
			}
		}
		return rows[:min(max(limit, 0), len(rows))], nil
	})
}

// Requested implements journal.Store.
func (s *Store) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	row, err := s.findRow(ctx, func(row *journal.Execution) bool {
		return row.ID == id && row.Request == request && request != (journal.Origin{})
	})
	if err != nil {
		return nil, err
	}
	return row.Brief(), nil
}

// FindRun implements journal.Store.
func (s *Store) FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return s.findRow(ctx, func(row *journal.Execution) bool {
		return row.ID == id && (row.Run == run || row.Chain == run)
	})
}

// findRow reads a run that fits.
func (s *Store) findRow(ctx context.Context, fits func(*journal.Execution) bool) (*journal.Execution, error) {
	return alone(ctx, s, func() (*journal.Execution, error) {
		for e := range s.allLocked() {
			if fits(&e.row) {
				row := cloneExecution(e.row)
				return &row, nil
			}
		}
		return nil, journal.ErrNotFound
	})
}

// Delete implements journal.Store.
func (s *Store) Delete(
	ctx context.Context, f journal.Fence, id journal.ID, run journal.RunID, superseded uint64,
) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if f != s.fences[id.Shard()] {
		return journal.ErrFenced
	}
	e := s.runLocked(journal.KeyOf(id, run))
	if e == nil || e.row.ID != id || e.row.Superseded != superseded || !e.row.State.Final() {
		return journal.ErrNotFound
	}
	s.removeLocked(&e.row)
	step := e.row.Parent
	if s.liveLocked(step) {
		p := s.executions[step.ID]
		if _, linked := p.links[step.Step]; !linked {
			p.links[step.Step] = journal.Link{Step: step.Step, Callee: id, Chain: e.row.Chain}
		}
	}
	return nil
}
