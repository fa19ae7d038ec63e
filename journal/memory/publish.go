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
