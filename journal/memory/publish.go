package memory

import (
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
)

// Published implements journal.Store.
func (s *Store) Published(ctx context.Context, chain journal.RunKey) (*journal.Published, error) {
	return alone(ctx, s, func() (*journal.Published, error) {
		e := s.chainLocked(chain)
		if e == nil || e.published == nil {
			return nil, journal.ErrNotFound
		}
		return journal.PublishedOf(e.published)
	})
}

// Outlines implements journal.Store.
func (s *Store) Outlines(ctx context.Context, chains []journal.RunKey) (map[journal.RunKey]*journal.Published, error) {
	return alone(ctx, s, func() (map[journal.RunKey]*journal.Published, error) {
		outlines := map[journal.RunKey]*journal.Published{}
		for _, chain := range chains {
			if e := s.chainLocked(chain); e != nil && e.published != nil {
				outline, err := journal.OutlineOf(e.published)
				if err != nil {
					return nil, err
				}
				outlines[chain] = outline
			}
		}
		return outlines, nil
	})
}

// chainLocked finds the run of a chain; nil if there is none.
func (s *Store) chainLocked(key journal.RunKey) *execution {
	for e := range s.allLocked() {
		if e.row.ChainKey() == key {
			return e
		}
	}
	return nil
}

// meets tells whether the attributes of an execution meet all conditions.
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
		return !slices.ContainsFunc(p.Attributes, func(a journal.NamedAttribute) bool {
			return a.Name == c.Name && c.Meets(a.Attribute)
		})
	})
}
