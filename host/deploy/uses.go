package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/journal"
)

func (d *Deployments) usesOf(namespace, deployment string) catalog.Uses {
	return catalog.Uses{
		InUse: func(ctx context.Context) (string, error) { return d.openExecution(ctx, namespace, deployment+"/") },
		Pins:  func(ctx context.Context) ([]catalog.Pin, error) { return d.pins(ctx, namespace, deployment) },
		HasState: func(ctx context.Context, entityType string) (string, error) {
			return d.anyState(ctx, namespace, entityType)
		},
	}
}

// pins is the code that open executions of a deployment are pinned to, in an order that is the same each time.
func (d *Deployments) pins(ctx context.Context, namespace, deployment string) ([]catalog.Pin, error) {
	type code struct{ digest, workflow string }
	found := map[code]catalog.Pin{}
	err := d.eachOpen(ctx, namespace, deployment, func(row *journal.Execution) {
		workflow := strings.TrimPrefix(row.Workflow, deployment+"/")
		found[code{row.Digest, workflow}] = catalog.Pin{Digest: row.Digest, Workflow: workflow, Execution: row.Name()}
	})
	return slices.SortedFunc(maps.Values(found), func(a, b catalog.Pin) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Digest, b.Digest))
	}), err
}

// openExecution names an open execution of a workflow, or of a deployment ("orders/"); it is empty if there is none.
func (d *Deployments) openExecution(ctx context.Context, namespace, workflow string) (string, error) {
	for _, state := range []journal.State{journal.Running, journal.Paused} {
		page, err := d.deps.Store.List(ctx, journal.Filter{
			Namespace: namespace, Workflow: workflow, State: state, Limit: 1,
		})
		if err != nil {
			return "", journal.Coded("look for open executions of "+workflow, err)
		}
		if len(page.Executions) > 0 {
			return page.Executions[0].Name(), nil
		}
	}
	return "", nil
}

// anyState is the key of an entity of a type that has a state; it is empty if there is none.
func (d *Deployments) anyState(ctx context.Context, namespace, entityType string) (string, error) {
	found, err := d.deps.Store.ListEntities(ctx, journal.EntityFilter{Namespace: namespace, Type: entityType, Limit: 1})
	if err != nil {
		return "", journal.Coded("look for states of "+entityType, err)
	}
	if len(found) == 0 {
		return "", nil
	}
	return found[0].Key, nil
}

// eachOpen goes through the open executions of a deployment: the running ones and the paused ones. An execution
// that is paused meanwhile may come twice.
func (d *Deployments) eachOpen(
	ctx context.Context, namespace, deployment string, f func(row *journal.Execution),
) error {
	for _, state := range []journal.State{journal.Running, journal.Paused} {
		filter := journal.Filter{Namespace: namespace, Workflow: deployment + "/", State: state, Limit: 1000}
		for {
			page, err := d.deps.Store.List(ctx, filter)
			if err != nil {
				return journal.Coded("list the executions of "+deployment, err)
			}
			for i := range page.Executions {
				f(&page.Executions[i])
			}
			if filter.After = page.Next; page.Next == "" {
				break
			}
		}
	}
	return nil
}
