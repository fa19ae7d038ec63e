package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # Stored values that new code would not take
//
// An entity's state is decoded by the code that is deployed now. A field of the state that the code
// does not have is left out, and is gone with the next write: renaming a field loses its values,
// and nothing fails. A field whose type changed fails each call of the entity. A migration carries
// values over. So a push whose types do not fit the existing states is refused, unless the caller
// says that they need not be read. So is code with fewer migrations, which could not read them at
// all.
//
// The input of an operation is checked by the type that is deployed now, and open executions go on
// with the code that they began with: the deployed code must take their requests, and they must be
// able to read its answers. A value that an execution cannot read pauses it. The executions of
// other deployments may call too, and are not asked: which of them call an entity is not known.
// Neither are messages that wait in inboxes, nor the inputs and results of workflows: those change
// with most releases, and few workflows are called by others.
//
// Queries and updates are answered by the code that an execution began with, and read by programs that are written for
// the types of the deployed code: these must be able to read the answers of open executions.
//
// States are compared with the code that is deployed: so a type that has states is not dropped in
// one push, to come back as something else with another. Calls and answers are compared with all
// code that open executions are pinned to. The deployed code alone would not do: a query that one
// push drops and the next one brings back with another type, or a type that becomes any type and
// then another one, fits the code before it each time, and not the answering code.

// Uses tells the users of a deployment. Unset fields are not asked.
type Uses struct {
	// InUse names an open execution of the deployment; empty if there is none. It is asked when settings are taken
	// away.
	InUse func(ctx context.Context) (execution string, err error)
	// Pins lists the code that open executions of the deployment are pinned to. It is asked if the code has operations,
	// queries or updates.
	Pins func(ctx context.Context) ([]Pin, error)
	// HasState names an entity of a type that has a state; empty if there is none. It is asked when the code does not
	// fit the states that the code before it wrote.
	HasState func(ctx context.Context, entityType string) (key string, err error)
}

// Pin is code that open executions of a workflow are pinned to.
type Pin struct {
	Digest   string
	Workflow string // without the name of the deployment
	// Execution is one of them.
	Execution string
}

// CheckTypes refuses a module whose types do not fit the stored values. Old is the deployment that
// it would be pushed to.
func (c *Catalog) CheckTypes(ctx context.Context, old *journal.Deployment, updated *abi.Manifest, uses Uses) error {
	if old.Digest == "" {
		return nil
	}
	before, err := c.runnable(ctx, old.Digest)
	if err != nil {
		return err
	}
	for i := range before.Entities {
		entity := &before.Entities[i]
		if err := uses.checkState(
			ctx, old.Name, entity, entityOf(updated, entity.Name), fillsAbsent(updated),
		); err != nil {
			return err
		}
	}
	if uses.Pins == nil ||
		len(before.Entities) == 0 && len(updated.Entities) == 0 && !slices.ContainsFunc(updated.Workflows, isAsked) {
		return nil
	}
	pins, err := uses.Pins(ctx)
	if err != nil {
		return err
	}
	for _, pin := range pins {
		pinned, err := c.runnable(ctx, pin.Digest)
		if err != nil {
			return err
		}
		if err := pin.check(old.Name, pinned, updated); err != nil {
			return err
		}
	}
	return nil
}

// runnable returns the manifest of a module, or an empty manifest if the module cannot be called: a push repairs that.
func (c *Catalog) runnable(ctx context.Context, digest string) (*abi.Manifest, error) {
	about, err := c.description(ctx, digest)
	switch abi.CodeOf(err) {
	case abi.CodeModuleNotFound, abi.CodeBadManifest, abi.CodeNotWasm:
		return &abi.Manifest{}, nil
	}
	if err != nil {
		return nil, err
	}
	return about.manifest, nil
}

// entityOf is the entity of a name; one without a name if it is gone.
func entityOf(m *abi.Manifest, name string) *abi.EntityInfo {
	if i := slices.IndexFunc(m.Entities, func(e abi.EntityInfo) bool { return e.Name == name }); i >= 0 {
		return &m.Entities[i]
	}
	return &abi.EntityInfo{}
}

// isAsked tells whether a workflow gives answers.
func isAsked(w abi.WorkflowInfo) bool { return len(w.Queries)+len(w.Updates) > 0 }

// check refuses code that does not fit the requests and answers of executions with the pinned code.
func (p *Pin) check(deployment string, pinned, updated *abi.Manifest) error {
	for i := range pinned.Entities {
		entity := &pinned.Entities[i]
		if misfit := operationMisfit(entity, entityOf(updated, entity.Name)); misfit != "" {
			return abi.Errorf(
				abi.CodeStateLost, "%s/%s does not fit open executions, as %s: %s", deployment, entity.Name,
				p.Execution, misfit,
			)
		}
	}
	of := func(w abi.WorkflowInfo) bool { return w.Name == p.Workflow }
	was, is := slices.IndexFunc(pinned.Workflows, of), slices.IndexFunc(updated.Workflows, of)
	if was < 0 || is < 0 {
		return nil // callers are told that there is none
	}
	if misfit := answerMisfit(&pinned.Workflows[was], &updated.Workflows[is], fillsAbsent(updated)); misfit != "" {
		return abi.Errorf(
			abi.CodeStateLost, "%s/%s does not fit the answers of open executions, as %s: %s", deployment, p.Workflow,
			p.Execution, misfit,
		)
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
	return abi.Errorf(
		abi.CodeStateLost, "%s/%s does not fit its states, as that of %q: %s", deployment, before.Name, key, misfit,
	)
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
		// A value filled in by Go is no answer.
		result := reading{optional: true, ignores: true, back: true}
		if misfits := result.misfits(now.Operations[j].Output, was.Output, ""); len(misfits) > 0 {
			return fmt.Sprintf("they cannot read the result of operation %s any more: %s", was.Name, summary(misfits))
		}
	}
	return ""
}

// answerMisfit names a query or an update whose answer by the code before a program for the types
// of now could not read, and says why; empty if there is none. Removed ones are not asked for.
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
