package journal

import (
	"cmp"
	"context"
	"strings"
)

// EntityID is the id of an entity. Its type is "deployment/Name". No execution has the same: the name of a deployment
// holds no colon.
func EntityID(namespace, entityType, key string) ID {
	return IDOf(namespace, "entity:"+entityType, key)
}

// Entity is the row of an entity that has a state.
type Entity struct {
	ID        ID
	Namespace string
	// Type is "deployment/Name".
	Type string
	// Key is the id of the entity, as people call it.
	Key string
	// Version of the shape of the state, as its module counts them.
	Version uint32
	// State is one msgpack value.
	State []byte

	CreatedAt int64
	UpdatedAt int64
}

// EntityFilter selects entities for ListEntities. Zero fields select all.
type EntityFilter struct {
	Namespace string
	// Type is "deployment/Name", or "deployment/" for all of a deployment.
	Type string
	// After is the last entity of the previous page; its names matter; nil at first.
	After *Entity
	// Limit is the page's size: 1 to 1000; 0 means 100.
	Limit int
}

// Size is how many entities a page has at most; a store's ListEntities begins with it.
func (f *EntityFilter) Size() (int, error) { return pageSize(f.Limit, "entities") }

// Place is where a page begins: behind it in the order of the list.
func (f *EntityFilter) Place() Entity {
	first := Entity{Namespace: f.Namespace, Type: f.Type}
	if f.After != nil && CompareEntities(f.After, &first) > 0 {
		return *f.After
	}
	return first
}

// Bound is where the types that the filter selects end: each compares like this with the bound, in Go as in SQL.
func (f *EntityFilter) Bound() (operator, bound string) {
	deployment, found := strings.CutSuffix(f.Type, "/")
	switch {
	case f.Type == "":
		return ">=", ""
	case found:
		return "<", deployment + "0" // that follows the slash
	}
	return "<=", f.Type
}

// CompareEntities compares two by their places in a list.
func CompareEntities(a, b *Entity) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Type, b.Type), strings.Compare(a.Key, b.Key),
	)
}

// EntityReader reads entities.
type EntityReader interface {
	// Entity reads an entity; ErrNotFound if there is none.
	Entity(ctx context.Context, id ID) (*Entity, error)
	// ListEntities lists entities in the order of (Namespace, Type, Key), without their states.
	ListEntities(ctx context.Context, f EntityFilter) ([]Entity, error)
}
