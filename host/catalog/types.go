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
// code that they began with: the deployed code must take what they send, and they must be able to read what it
// answers. A value that an execution cannot read pauses it. The executions of other deployments may call
// too, and are not asked: which of them call an entity is not known. Neither are messages that wait in inboxes, nor the
// inputs and results of workflows: those change with most releases, and few workflows are called by others.
//
// Queries and updates are answered by the code that an execution began with, and read by programs that are written for the
// types of the deployed code: these must be able to read the answers of open executions.
//
// The next push compares with the code of this one. So what there are states of is not dropped in one push, to come
// back as something else with another.

// Uses tells what uses a deployment. What is not set is not asked.
type Uses struct {
	// InUse names an open execution of a workflow of the deployment, or of any if workflow is empty; empty if there is none. It is
	// asked when settings are taken away, or calls and answers do not fit the code of open executions.
	InUse func(ctx context.Context, workflow string) (execution string, err error)
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
	for i := range before.manifest.Workflows {
		if err := uses.checkAnswers(ctx, old.Name, &before.manifest.Workflows[i], updated); err != nil {
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
	misfit := operationMisfit(before, now)
	if misfit == "" || u.InUse == nil {
		return nil
	}
	using, err := u.InUse(ctx, "")
	if err != nil || using == "" {
		return err
	}
	return abi.Errorf(abi.CodeStateLost, "%s/%s does not fit open executions, as %s: %s", deployment, before.Name, using, misfit)
}

// operationMisfit names an operation that does not take the input that it took before, or whose result the code before
// could not read, and says why; empty if there is none.
func operationMisfit(before, now *abi.EntityInfo) string {
	for i := range before.Operations {
		was := &before.Operations[i]
		j := slices.IndexFunc(now.Operations, func(o abi.OperationInfo) bool { return o.Name == was.Name })
		if j < 0 {
			return fmt.Sprintf("operation %s is gone", was.Name)
		}
		// The host checks it, and fills nothing.
		if misfits := (reading{}).misfits(was.Input, now.Operations[j].Input, ""); len(misfits) > 0 {
			return fmt.Sprintf("operation %s does not take any more what they may send: %s", was.Name, summary(misfits))
		}
		// What Go would fill in is no answer.
		result := reading{optional: true, ignores: true, back: true}
		if misfits := result.misfits(now.Operations[j].Output, was.Output, ""); len(misfits) > 0 {
			return fmt.Sprintf("they cannot read the result of operation %s any more: %s", was.Name, summary(misfits))
		}
	}
	return ""
}

func (u Uses) checkAnswers(ctx context.Context, deployment string, before *abi.WorkflowInfo, updated *abi.Manifest) error {
	i := slices.IndexFunc(updated.Workflows, func(w abi.WorkflowInfo) bool { return w.Name == before.Name })
	if i < 0 || u.InUse == nil {
		return nil // callers are told that there is none
	}
	misfit := answerMisfit(before, &updated.Workflows[i], fillsAbsent(updated))
	if misfit == "" {
		return nil
	}
	using, err := u.InUse(ctx, before.Name)
	if err != nil || using == "" {
		return err
	}
	return abi.Errorf(abi.CodeStateLost, "%s/%s does not fit the answers of open executions, as %s: %s", deployment, before.Name, using, misfit)
}

// answerMisfit names a query or an update whose answer by the code before a program for the types of now could not read,
// and says why; empty if there is none. What is not there any more is not asked for.
func answerMisfit(before, now *abi.WorkflowInfo, fills bool) string {
	read := reading{fills: fills, optional: true, ignores: true}
	for _, q := range before.Queries {
		j := slices.IndexFunc(now.Queries, func(o abi.QueryInfo) bool { return o.Name == q.Name })
		if j < 0 {
			continue
		}
		if misfits := read.misfits(q.Output, now.Queries[j].Output, ""); len(misfits) > 0 {
			return fmt.Sprintf("the answer to query %s: %s", q.Name, summary(misfits))
		}
	}
	for _, p := range before.Updates {
		j := slices.IndexFunc(now.Updates, func(o abi.UpdateInfo) bool { return o.Name == p.Name })
		if j < 0 {
			continue
		}
		if misfits := read.misfits(p.Output, now.Updates[j].Output, ""); len(misfits) > 0 {
			return fmt.Sprintf("the answer to update %s: %s", p.Name, summary(misfits))
		}
	}
	return ""
}
