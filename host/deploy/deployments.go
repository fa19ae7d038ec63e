package deploy

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/journal"
)

// Push validates, compiles and deploys a module. If anything about it is not acceptable nothing is stored.
func (d *Deployments) Push(ctx context.Context, req catalog.PushRequest) (*catalog.DeploymentInfo, error) {
	if err := d.deps.Host.Accepting(); err != nil {
		return nil, err
	}
	req.Namespace = cmp.Or(req.Namespace, journal.DefaultNamespace)
	declaration := d.deps.Schedules.Declare(req.Namespace, req.Name)
	defer declaration.Release()
	req.Accept = func(ctx context.Context, m *abi.Manifest) error {
		declared, err := declaredBy(req.Namespace, req.Name, m)
		if err != nil {
			return err
		}
		return declaration.Begin(ctx, declared)
	}
	req.Uses = d.usesOf(req.Namespace, req.Name)
	info, err := d.deps.Catalog.Push(ctx, req, func() int64 { return d.deps.Clock.Now().UnixNano() })
	if err != nil {
		return nil, err
	}
	if err := declaration.Finish(ctx); err != nil {
		return nil, err
	}
	d.deps.Logger.Info("deployed", "deployment", info.Name, "version", info.Version, "digest", info.Digest)
	return info, nil
}

// List lists the deployments of a namespace.
func (d *Deployments) List(ctx context.Context, namespace string) ([]catalog.DeploymentInfo, error) {
	return d.deps.Catalog.List(ctx, cmp.Or(namespace, journal.DefaultNamespace))
}

// Describe describes one deployment.
func (d *Deployments) Describe(ctx context.Context, namespace, name string) (*catalog.DeploymentInfo, error) {
	return d.deps.Catalog.Describe(ctx, cmp.Or(namespace, journal.DefaultNamespace), name)
}
