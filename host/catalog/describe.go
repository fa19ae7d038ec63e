package catalog

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// DeploymentInfo is a deployment with what its module says of itself.
type DeploymentInfo struct {
	journal.Deployment
	Manifest *abi.Manifest
	Imports  []string
}

// description is what a module says of itself.
type description struct {
	manifest *abi.Manifest
	imports  []string
}

// List describes the deployments of a namespace.
func (c *Catalog) List(ctx context.Context, namespace string) ([]DeploymentInfo, error) {
	all, err := c.store.Deployments(ctx, namespace)
	if err != nil {
		return nil, journal.Coded("list deployments", err)
	}
	infos := make([]DeploymentInfo, 0, len(all))
	for _, d := range all {
		info, err := c.info(ctx, d)
		if err != nil {
			return nil, err
		}
		infos = append(infos, *info)
	}
	return infos, nil
}

// Describe describes one deployment.
func (c *Catalog) Describe(ctx context.Context, namespace, name string) (*DeploymentInfo, error) {
	d, err := c.Deployment(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return c.info(ctx, d.Deployment)
}

func (c *Catalog) info(ctx context.Context, d journal.Deployment) (*DeploymentInfo, error) {
	about, err := c.description(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	return &DeploymentInfo{Deployment: d, Manifest: about.manifest, Imports: about.imports}, nil
}

// description is that of the module with the digest, which is not compiled for it: a person who
// asks a host that has just started what it has would wait for all modules.
func (c *Catalog) description(ctx context.Context, digest string) (*description, error) {
	if about := c.described(digest); about != nil {
		return about, nil
	}
	stored, err := c.stored(ctx, digest)
	if err != nil {
		return nil, err
	}
	imports, err := wasm.Imports(stored.Binary)
	if err != nil {
		return nil, err
	}
	about := &description{manifest: &abi.Manifest{}, imports: imports}
	if err := abi.DecodeBody(stored.Manifest, about.manifest); err != nil {
		return nil, abi.Errorf(abi.CodeBadManifest, "the manifest of module %.12s does not decode: %v", digest, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.descriptions[digest] = about
	return about, nil
}

// described is what is known about a module without asking the store; nil if it is not.
func (c *Catalog) described(digest string) *description {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.byDigest[digest]; m != nil {
		return &description{m.Manifest, m.Code.Imports()}
	}
	return c.descriptions[digest]
}
