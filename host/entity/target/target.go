package target

import (
	"context"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
)

// defaultGroup is the shard group that every host serves.
const defaultGroup = "default"

// Target is an entity with the code that it has now.
type Target struct {
	Ref
	Type *catalog.Entity
}

// Catalog finds types of entities.
type Catalog interface {
	Entity(ctx context.Context, namespace, entityType string) (*catalog.Entity, error)
}

// Finder finds the code of entities that a host serves.
type Finder struct {
	Catalog Catalog
	// ShardGroups are the shard groups of the host, besides the default one.
	ShardGroups []string
}

// Find finds the code of an entity, and refuses an entity that this host does not serve.
func (f Finder) Find(ctx context.Context, ref Ref) (Target, error) {
	t, err := f.Catalog.Entity(ctx, ref.Namespace, ref.Type)
	if err != nil {
		return Target{}, err
	}
	if group := t.ShardGroup; group != "" && group != defaultGroup && !slices.Contains(f.ShardGroups, group) {
		return Target{}, abi.Errorf(
			abi.CodeNoShardGroup, "no host serves the shard group %q of the entities %q", group, ref.Type,
		)
	}
	return Target{Ref: ref, Type: t}, nil
}

// Check finds an operation of the target and makes its input canonical.
func (t Target) Check(operation string, input []byte) (*abi.OperationInfo, []byte, error) {
	o, err := t.Type.Operation(operation)
	if err != nil {
		return nil, nil, err
	}
	canonical, err := o.CheckInput(input)
	return o, canonical, err
}
