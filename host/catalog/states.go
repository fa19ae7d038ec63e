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
// the values may go. So is code with fewer migrations, which could not read them at all.

// checkStates refuses a module that would lose parts of states. Old is the deployment before the push.
func (c *Catalog) checkStates(ctx context.Context, req *PushRequest, old *journal.Deployment, updated *abi.Manifest) error {
	if req.Anyway || req.HasState == nil || old.Digest == "" {
		return nil
	}
	before, err := c.description(ctx, old.Digest)
	switch abi.CodeOf(err) {
	case abi.CodeModuleNotFound, abi.CodeBadManifest, abi.CodeNotWasm:
		return nil // it cannot be called: a push is what it needs
	}
	if err != nil {
		return err
	}
	for i := range before.manifest.Entities {
		entity := &before.manifest.Entities[i]
		misfit := stateMisfit(entity, updated)
		if misfit == "" {
			continue
		}
		key, err := req.HasState(ctx, req.Name+"/"+entity.Name)
		if err != nil {
			return err
		}
		if key != "" {
			return abi.Errorf(abi.CodeStateLost, "%s/%s %s, and there are states, as that of %q", req.Name, entity.Name, misfit, key)
		}
	}
	return nil
}

// stateMisfit says why code of another module does not fit the states of an entity; empty if it does, or if it has
// migrations for them.
func stateMisfit(entity *abi.EntityInfo, updated *abi.Manifest) string {
	i := slices.IndexFunc(updated.Entities, func(e abi.EntityInfo) bool { return e.Name == entity.Name })
	if i < 0 || entity.State == nil {
		return ""
	}
	now := &updated.Entities[i]
	if now.StateVersion < entity.StateVersion {
		return fmt.Sprintf("has fewer migrations of its state, %d instead of %d", now.StateVersion, entity.StateVersion)
	}
	gone := lost(entity.State, now.State, "")
	if now.StateVersion > entity.StateVersion || len(gone) == 0 {
		return ""
	}
	return "has no " + strings.Join(gone, ", ") + " in its state any more"
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
