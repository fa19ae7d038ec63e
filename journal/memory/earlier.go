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

// setAsideLocked moves the run of an execution aside, with the messages that it has not taken. Boxes
// are those that the Write changes: what it receives stays.
func (s *Store) setAsideLocked(id journal.ID, boxes map[journal.ID]*box) {
	old := s.executions[id]
	aside := *old
	aside.row.ID, aside.row.EarlierOf = journal.EarlierOf(id, old.row.Chain), id
	s.executions[aside.row.ID] = &aside
	left := (*box)(nil).clone()
	for position, m := range s.boxes[id].clone().messages {
		left.put(m, position)
		delete(boxes[id].messages, position)
		delete(boxes[id].origins, m.Origin)
		boxes[id].bytes -= m.Bytes
	}
	s.boxes[aside.row.ID] = left
}

// Earlier implements journal.Store.
func (s *Store) Earlier(ctx context.Context, id journal.ID, after journal.Wake, limit int) ([]journal.Execution, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var rows []journal.Execution
	for _, e := range s.executions {
		if e.row.EarlierOf == id && (after == journal.Wake{} || compareTimes(e.row.CreatedAt, after.At, e.row.ID, after.ID) < 0) {
			rows = append(rows, journal.Listed(cloneExecution(e.row)))
		}
	}
	slices.SortFunc(rows, func(a, b journal.Execution) int { return -compareTimes(a.CreatedAt, b.CreatedAt, a.ID, b.ID) })
	return rows[:min(max(limit, 0), len(rows))], nil
}

// Requested implements journal.Store.
func (s *Store) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, e := range s.executions {
		if (e.row.ID == id || e.row.EarlierOf == id) && e.row.Request == request && request != (journal.Origin{}) {
			row := cloneExecution(e.row)
			return &row, nil
		}
	}
	return nil, journal.ErrNotFound
}

// Delete implements journal.Store.
func (s *Store) Delete(ctx context.Context, own []journal.Fence, id journal.ID, run journal.RunID) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !slices.Equal(own, s.fences[:]) {
		return journal.ErrFenced
	}
	e, ok := s.executions[id]
	if !ok || e.row.Run != run || !e.row.State.Final() {
		return journal.ErrNotFound
	}
	delete(s.executions, id)
	delete(s.boxes, id)
	step := e.row.Parent
	if p, ok := s.executions[step.ID]; ok && p.row.Run == step.Run && !p.row.State.Final() {
		callee := e.row.EarlierOf
		if callee.IsZero() {
			callee = id
		}
		if _, linked := p.links[step.Step]; !linked {
			p.links[step.Step] = journal.Link{Step: step.Step, Callee: callee, Chain: e.row.Chain}
		}
	}
	return nil
}
