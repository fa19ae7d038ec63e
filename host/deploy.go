package host

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/journal"
)

// ownedModules is the store of the catalog: it reads as any, and writes as the owner
// of the shards.
type ownedModules struct {
	journal.ModuleStore
	writer *writer
}

func (s ownedModules) Deploy(ctx context.Context, m journal.Module, d journal.Deployment, migrations []abi.Migration) (journal.Deployment, error) {
	return s.writer.Deploy(ctx, m, d, migrations)
}

// PushRequest uploads a module and points a deployment at it.
type PushRequest = catalog.PushRequest

// Settings is how a push changes the settings of its deployment.
type Settings = catalog.Settings

// DeploymentInfo is a deployment with the self-description of its module.
type DeploymentInfo = catalog.DeploymentInfo

// Push validates, compiles and deploys a module. If anything about it is not
// acceptable nothing is stored.
func (e *Engine) Push(ctx context.Context, req PushRequest) (*DeploymentInfo, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, err
	}
	req.Namespace = namespaceOf(req.Namespace)
	declaration := e.schedules.Declare(req.Namespace, req.Name)
	defer declaration.Release()
	req.Accept = func(ctx context.Context, m *abi.Manifest) error {
		declared, err := declaredBy(req.Namespace, req.Name, m)
		if err != nil {
			return err
		}
		return declaration.Begin(ctx, declared)
	}
	req.Uses = e.usesOf(req.Namespace, req.Name)
	info, err := e.catalog.Push(ctx, req, func() int64 { return e.clock.Now().UnixNano() })
	if err != nil {
		return nil, err
	}
	if err := declaration.Finish(ctx); err != nil {
		return nil, err
	}
	e.log.Info("deployed", "deployment", info.Name, "version", info.Version, "digest", info.Digest)
	return info, nil
}

func (e *Engine) usesOf(namespace, deployment string) catalog.Uses {
	return catalog.Uses{
		InUse: func(ctx context.Context) (string, error) { return e.openExecution(ctx, namespace, deployment+"/") },
		Pins:  func(ctx context.Context) ([]catalog.Pin, error) { return e.pins(ctx, namespace, deployment) },
		HasState: func(ctx context.Context, entityType string) (string, error) {
			return e.anyState(ctx, namespace, entityType)
		},
	}
}

// pins is the code that open executions of a deployment are pinned to, in an order that is the same each time.
func (e *Engine) pins(ctx context.Context, namespace, deployment string) ([]catalog.Pin, error) {
	type code struct{ digest, workflow string }
	found := map[code]catalog.Pin{}
	err := e.eachOpen(ctx, namespace, deployment, func(row *journal.Execution) {
		workflow := strings.TrimPrefix(row.Workflow, deployment+"/")
		found[code{row.Digest, workflow}] = catalog.Pin{Digest: row.Digest, Workflow: workflow, Execution: row.Name()}
	})
	return slices.SortedFunc(maps.Values(found), func(a, b catalog.Pin) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Digest, b.Digest))
	}), err
}

// openExecution names an open execution of a workflow, or of a deployment ("orders/"); it is empty if there is none.
func (e *Engine) openExecution(ctx context.Context, namespace, workflow string) (string, error) {
	for _, state := range []journal.State{journal.Running, journal.Paused} {
		page, err := e.store.List(ctx, journal.Filter{Namespace: namespace, Workflow: workflow, State: state, Limit: 1})
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
func (e *Engine) anyState(ctx context.Context, namespace, entityType string) (string, error) {
	found, err := e.store.ListEntities(ctx, journal.EntityFilter{Namespace: namespace, Type: entityType, Limit: 1})
	if err != nil {
		return "", journal.Coded("look for states of "+entityType, err)
	}
	if len(found) == 0 {
		return "", nil
	}
	return found[0].Key, nil
}

// declaredBy are the schedules that a module declares.
func declaredBy(namespace, deployment string, m *abi.Manifest) (declared []journal.Schedule, err error) {
	names := map[string]bool{}
	for i := range m.Schedules {
		s, err := schedule.Declared(namespace, deployment, m, &m.Schedules[i])
		if err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, abi.Errorf(abi.CodeBadManifest, "the schedule %q is declared twice", m.Schedules[i].Name)
		}
		names[s.Name] = true
		declared = append(declared, s)
	}
	return declared, nil
}

// declared lists the schedules that the deployed module of a deployment declares; none if it
// is not there.
func (e *Engine) declared(ctx context.Context, namespace, name string) ([]journal.Schedule, error) {
	d, err := e.catalog.Deployment(ctx, namespace, name)
	if abi.CodeOf(err) == abi.CodeDeploymentNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := e.catalog.Module(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	return declaredBy(namespace, name, m.Manifest)
}

// Deployments lists the deployments of a namespace.
func (e *Engine) Deployments(ctx context.Context, namespace string) ([]DeploymentInfo, error) {
	return e.catalog.List(ctx, namespaceOf(namespace))
}

// Deployment describes one deployment.
func (e *Engine) Deployment(ctx context.Context, namespace, name string) (*DeploymentInfo, error) {
	return e.catalog.Describe(ctx, namespaceOf(namespace), name)
}
