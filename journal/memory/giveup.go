package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
)

func (s *Store) giveUpLocked(w *journal.Write) {
	for _, g := range w.GiveUp {
		step := journal.Caller{ID: w.ID, Run: w.Run, Step: g.Step}
		if _, there := s.givenUp[step]; !there {
			s.givenUp[step] = g
		}
	}
}

// GivenUp implements journal.Store.
func (s *Store) GivenUp(ctx context.Context, after journal.Caller, limit int) ([]journal.GivenUp, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var found []journal.GivenUp
	for step, g := range s.givenUp {
		if compareSteps(step, after) > 0 {
			found = append(found, journal.GivenUp{ID: step.ID, Run: step.Run, GiveUp: g})
		}
	}
	slices.SortFunc(found, func(a, b journal.GivenUp) int { return compareSteps(a.Caller(), b.Caller()) })
	if limit <= 0 {
		return nil, nil
	}
	return found[:min(len(found), limit)], nil
}

func compareSteps(a, b journal.Caller) int {
	return bytes.Compare(slices.Concat(a.ID[:], a.Run[:], a.Step[:]), slices.Concat(b.ID[:], b.Run[:], b.Step[:]))
}

// DropGivenUp implements journal.Store.
func (s *Store) DropGivenUp(ctx context.Context, f journal.Fence, id journal.ID, run journal.RunID, steps []journal.StepID) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if f != s.fences[id.Shard()] {
		return journal.ErrFenced
	}
	for _, step := range steps {
		delete(s.givenUp, journal.Caller{ID: id, Run: run, Step: step})
	}
	return nil
}

// Children implements journal.Store.
func (s *Store) Children(ctx context.Context, run journal.RunID, after journal.ID, limit int) ([]journal.Execution, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var found []journal.Execution
	for id, e := range s.executions {
		if e.row.Parent.Run == run && !e.row.Parent.IsZero() && !e.row.State.Final() && bytes.Compare(id[:], after[:]) > 0 {
			found = append(found, cloneExecution(e.row))
		}
	}
	slices.SortFunc(found, func(a, b journal.Execution) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return found[:min(len(found), max(limit, 0))], nil
}
