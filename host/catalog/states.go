package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # States that new code would not read whole
//
// An entity's state is decoded by the code that is deployed now. A field of the state that the code
// does not have is left out, and is gone with the next write: renaming a field loses its values, and
// nothing fails. A type that changed fails loudly, and a migration carries values over. So a push
// that drops a field of a state is refused while there are such states, unless the caller says that
// the values may go.

// checkStates refuses a module that would lose parts of states. Old is the deployment before the push.
func (c *Catalog) checkStates(ctx context.Context, req *PushRequest, old *journal.Deployment, updated *abi.Manifest) error {
	if req.Anyway || req.HasState == nil || old.Digest == "" {
		return nil
	}
	before, err := c.description(ctx, old.Digest)
	if abi.CodeOf(err) == abi.CodeModuleNotFound {
		return nil // it cannot have been called
	}
	if err != nil {
		return err
	}
	for i := range before.manifest.Entities {
		entity := &before.manifest.Entities[i]
		gone := lostFields(entity, updated)
		if len(gone) == 0 {
			continue
		}
		key, err := req.HasState(ctx, req.Name+"/"+entity.Name)
		if err != nil {
			return err
		}
		if key != "" {
			return abi.Errorf(abi.CodeStateLost, "the state of %s/%s has no %s any more, and there are states that may have it, as that of %q",
				req.Name, entity.Name, strings.Join(gone, ", "), key)
		}
	}
	return nil
}

// lostFields lists the fields of an entity's state that the entity does not have in another module.
// If it has more migrations there, they are responsible; with fewer, states are refused.
func lostFields(entity *abi.EntityInfo, updated *abi.Manifest) []string {
	i := slices.IndexFunc(updated.Entities, func(e abi.EntityInfo) bool { return e.Name == entity.Name })
	if i < 0 || updated.Entities[i].StateVersion != entity.StateVersion {
		return nil
	}
	return lost(entity.State, updated.Entities[i].State, "")
}

// lost lists the fields of a schema that another does not have, at a path.
func lost(old, updated *abi.Schema, path string) (gone []string) {
	switch {
	case old == nil || updated == nil || old.Type != updated.Type:
		return nil
	case old.Type != abi.TypeStruct:
		return lost(old.Elem, updated.Elem, path)
	}
	for _, f := range old.Fields {
		name := strings.TrimPrefix(path+"."+f.Name, ".")
		i := slices.IndexFunc(updated.Fields, func(g abi.Field) bool { return g.Name == f.Name })
		if i < 0 {
			gone = append(gone, fmt.Sprintf("%.80q", name))
			continue
		}
		gone = append(gone, lost(f.Schema, updated.Fields[i].Schema, name)...)
	}
	return gone
}
