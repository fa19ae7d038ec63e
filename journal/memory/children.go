package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
)

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
			found = append(found, journal.Listed(cloneExecution(e.row)))
		}
	}
	slices.SortFunc(found, func(a, b journal.Execution) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return found[:min(len(found), max(limit, 0))], nil
}
