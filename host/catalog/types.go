package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # What is there, and new code would not take
//
// An entity's state is decoded by the code that is deployed now. A field of the state that the code
// does not have is left out, and is gone with the next write: renaming a field loses its values, and
// nothing fails. A field whose type changed fails each call of the entity. A migration carries values
// over. So a push whose types do not fit the states that there are is refused, unless the caller
// says that they need not be read. So is code with fewer migrations, which could not read them at all.
//
// The input of an operation is checked by the type that is deployed now, and open executions go on with the
// code that they began with: what they send must be taken. The executions of other deployments may send
// too, and are not asked: which of them call an entity is not known. Neither are messages that wait in inboxes. Results are
// not compared: what the code of an open execution makes of another answer is its own.
//
// The next push compares with the code of this one. So what there are states of is not dropped in one push, to come
// back as something else with another.

// Uses tells what uses a deployment. What is not set is not asked.
type Uses struct {
	// InUse names an open execution of the deployment; empty if there is none. It is
	// asked when settings are taken away, or an operation takes less than before.
	InUse func(ctx context.Context) (execution string, err error)
	// HasState names an entity of a type that has a state; empty if there is none. It is
	// asked when the code does not fit the states that the code before it wrote.
	HasState func(ctx context.Context, entityType string) (key string, err error)
}

// CheckTypes refuses a module whose types do not fit what is there. Old is the deployment that it would be pushed to.
func (c *Catalog) CheckTypes(ctx context.Context, old *journal.Deployment, updated *abi.Manifest, uses Uses) error {
	if old.Digest == "" {
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
		now := &abi.EntityInfo{} // it is gone
		if j := slices.IndexFunc(updated.Entities, func(e abi.EntityInfo) bool { return e.Name == entity.Name }); j >= 0 {
			now = &updated.Entities[j]
		}
		if err := uses.checkState(ctx, old.Name, entity, now, fillsAbsent(updated)); err != nil {
			return err
		}
		if err := uses.checkOperations(ctx, old.Name, entity, now); err != nil {
			return err
		}
	}
	return nil
}

// fillsAbsent tells whether the code of a module reads fields that are absent as zero.
func fillsAbsent(m *abi.Manifest) bool { return strings.HasPrefix(m.SDK, "go/") }

func (u Uses) checkState(ctx context.Context, deployment string, before, now *abi.EntityInfo, fills bool) error {
	misfit := stateMisfit(before, now, fills)
	if misfit == "" || u.HasState == nil {
		return nil
	}
	key, err := u.HasState(ctx, deployment+"/"+before.Name)
	if err != nil || key == "" {
		return err
	}
	return abi.Errorf(abi.CodeStateLost, "%s/%s does not fit its states, as that of %q: %s", deployment, before.Name, key, misfit)
}

// stateMisfit says why the code of an entity does not fit the states that it had before; empty if it does, or if it
// has migrations for them.
func stateMisfit(before, now *abi.EntityInfo, fills bool) string {
	switch {
	case before.State == nil:
		return ""
	case now.Name == "":
		return "the entity is gone"
	case now.State == nil:
		return "it has no state any more"
	case now.StateVersion < before.StateVersion:
		return fmt.Sprintf("it has fewer migrations, %d instead of %d", now.StateVersion, before.StateVersion)
	case now.StateVersion > before.StateVersion:
		return ""
	}
	return summary(reading{fills: fills, optional: true}.misfits(before.State, now.State, ""))
}

func (u Uses) checkOperations(ctx context.Context, deployment string, before, now *abi.EntityInfo) error {
	operation, misfit := operationMisfit(before, now)
	if operation == "" || u.InUse == nil {
		return nil
	}
	using, err := u.InUse(ctx)
	if err != nil || using == "" {
		return err
	}
	return abi.Errorf(abi.CodeStateLost, "%s/%s.%s does not take any more what open executions may send, as %s: %s", deployment, before.Name, operation, using, misfit)
}

// operationMisfit names an operation that does not take what it took before, and says why; empty if all do.
func operationMisfit(before, now *abi.EntityInfo) (operation, misfit string) {
	for i := range before.Operations {
		was := &before.Operations[i]
		j := slices.IndexFunc(now.Operations, func(o abi.OperationInfo) bool { return o.Name == was.Name })
		if j < 0 {
			return was.Name, "it is gone"
		}
		// The host checks it, and fills nothing.
		if misfits := (reading{}).misfits(was.Input, now.Operations[j].Input, ""); len(misfits) > 0 {
			return was.Name, summary(misfits)
		}
	}
	return "", ""
}
