package memory

import (
	"bytes"
	"context"
	"strings"

	"github.com/cruster/cruster/journal"
)

// applyToEntityLocked applies a Write of an entity.
func (s *Store) applyToEntityLocked(w *journal.Write) journal.Result {
	boxes, position, res := s.boxesLocked(w)
	if res != (journal.Result{}) {
		return res
	}
	if w.Entity != nil {
		s.entities[w.ID] = cloneEntity(*w.Entity)
	}
	if w.Destroy {
		delete(s.entities, w.ID)
	}
	if w.Lock != nil {
		s.locks[w.ID] = *w.Lock
	}
	if w.Unlock {
		delete(s.locks, w.ID)
	}
	return s.deliverLocked(w, boxes, position)
}

func cloneEntity(e journal.Entity) journal.Entity {
	e.State = bytes.Clone(e.State)
	return e
}

// Entity implements journal.Store.
func (s *Store) Entity(ctx context.Context, id journal.ID) (*journal.Entity, error) {
	return find(ctx, s, s.entities, id, cloneEntity)
}

// ListEntities implements journal.Store.
func (s *Store) ListEntities(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	return list(ctx, s, s.entities, func(_ journal.ID, e journal.Entity) (journal.Entity, bool) {
		e.State = nil
		return e, (f.Namespace == "" || e.Namespace == f.Namespace) && (f.Type == "" || ofType(e.Type, f.Type)) &&
			(f.After == nil || journal.CompareEntities(&e, f.After) > 0)
	}, func(a, b journal.Entity) int { return journal.CompareEntities(&a, &b) }, limit)
}

// ofType reports whether a type matches a filter's type, or is of its deployment.
func ofType(entityType, wanted string) bool {
	return entityType == wanted || strings.HasSuffix(wanted, "/") && strings.HasPrefix(entityType, wanted)
}
