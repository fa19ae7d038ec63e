package memory

import (
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
)

// Published implements journal.Store.
func (s *Store) Published(ctx context.Context, id journal.ID) (*journal.Published, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	e, ok := s.executions[id]
	if !ok || e.published == nil {
		return nil, journal.ErrNotFound
	}
	return journal.PublishedOf(e.published)
}

// Outlines implements journal.Store.
func (s *Store) Outlines(ctx context.Context, ids []journal.ID) (map[journal.ID]*journal.Published, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	outlines := map[journal.ID]*journal.Published{}
	for _, id := range ids {
		if e, ok := s.executions[id]; ok && e.published != nil {
			if outlines[id], err = journal.OutlineOf(e.published); err != nil {
				return nil, err
			}
		}
	}
	return outlines, nil
}

// meets tells whether the attributes of an execution are what all conditions ask for.
func (e *execution) meets(where []journal.Condition) bool {
	if len(where) == 0 {
		return true
	}
	if e.published == nil {
		return false
	}
	p, err := journal.PublishedOf(e.published)
	if err != nil {
		panic(err) // it was encoded by this process
	}
	return !slices.ContainsFunc(where, func(c journal.Condition) bool {
		return !slices.ContainsFunc(p.Attributes, func(a journal.NamedAttribute) bool { return a.Name == c.Name && c.Meets(a.Attribute) })
	})
}
