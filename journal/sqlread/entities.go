package sqlread

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Entity implements journal.Store.
func (r *Reader) Entity(ctx context.Context, id journal.ID) (*journal.Entity, error) {
	return One(ctx, r, scanEntity, "entity", &id, r.queries.Entity, int16(id.Shard()), (*ID)(&id))
}

// ListEntities implements journal.Store.
func (r *Reader) ListEntities(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	place := f.Place()
	if err := r.queries.CheckText(f.Namespace, f.Type, place.Namespace, place.Type, place.Key); err != nil {
		return nil, err
	}
	if f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, bound := r.queries.Entities(&f)
	return All(ctx, r, scanListedEntity, "entities", nil, query,
		place.Namespace, place.Type, place.Key, bound, f.Type, limit)
}

// Lock implements journal.Store.
func (r *Reader) Lock(ctx context.Context, entity journal.ID) (*journal.Lock, error) {
	return One(ctx, r, ScanLock, "lock of entity", &entity, r.queries.Lock, int16(entity.Shard()), (*ID)(&entity))
}

// LockedEntity implements journal.Store. An entity is loaded with it, so it is one statement: one round trip and
// one moment.
func (r *Reader) LockedEntity(ctx context.Context, id journal.ID) (*journal.Entity, *journal.Lock, error) {
	var found locked
	err := r.read(ctx, &found, "entity with its lock", &id, r.queries.LockedEntity, int16(id.Shard()), (*ID)(&id))
	if err != nil {
		return nil, nil, err
	}
	return found.entity, found.lock, nil
}

// locked is an entity with its lock.
type locked struct {
	entity *journal.Entity
	lock   *journal.Lock
}

func (l *locked) Begin() { *l = locked{} }

// Add takes the row of the entity or the row of its lock. The row of a lock has a holder, and the time of the lock.
func (l *locked) Add(row Row) error {
	var e journal.Entity
	var holder journal.Caller
	if err := row.Scan(caller(&holder, append(entity(&e), &e.State)...)...); err != nil {
		return err
	}
	if holder.IsZero() {
		l.entity = &e
	} else {
		l.lock = &journal.Lock{
			Entity: e.ID, Namespace: e.Namespace, Type: e.Type, Key: e.Key, Holder: holder, Since: e.CreatedAt,
		}
	}
	return nil
}

// InSection implements journal.Store.
func (r *Reader) InSection(ctx context.Context, step journal.Caller) (bool, error) {
	in, err := All(ctx, r, ScanName, "section of execution", &step.ID, r.queries.InSection,
		int16(step.ID.Shard()), (*ID)(&step.Run), (*ID)(&step.Step))
	return len(in) > 0, err
}
