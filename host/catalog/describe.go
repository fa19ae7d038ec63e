package catalog

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// DeploymentInfo is a deployment with the self-description of its module.
type DeploymentInfo struct {
	journal.Deployment
	Manifest *abi.Manifest
	Imports  []string
}

// description is the self-description of a module.
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
		about, err := c.description(ctx, d.Digest)
		if err != nil {
			return nil, err
		}
		infos = append(infos, DeploymentInfo{Deployment: d, Manifest: about.manifest, Imports: about.imports})
	}
	return infos, nil
}

// Describe describes one deployment. The module itself is asked: inputs are decoded by its answer.
func (c *Catalog) Describe(ctx context.Context, namespace, name string) (*DeploymentInfo, error) {
	d, err := c.Deployment(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	m, err := c.Module(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	return &DeploymentInfo{Deployment: d.Deployment, Manifest: m.Manifest, Imports: m.Code.Imports()}, nil
}

// CheckWorkflow says why a workflow, "deployment/Name", cannot be started: there is no such deployment, or its module
// has no such workflow. It does not compile the module.
func (c *Catalog) CheckWorkflow(ctx context.Context, namespace, workflow string) error {
	deployment, name, err := splitType(workflow)
	if err != nil {
		return err
	}
	d, err := c.Deployment(ctx, namespace, deployment)
	if err != nil {
		return err
	}
	about, err := c.description(ctx, d.Digest)
	if err != nil {
		return err
	}
	_, err = about.manifest.Workflow(deployment, name)
	return err
}

// description returns the description of the module with the digest, which is not compiled for it:
// a person who lists the modules of a host that has just started would wait for all of them.
func (c *Catalog) description(ctx context.Context, digest string) (*description, error) {
	if about := c.described(digest); about != nil {
		return about, nil
	}
	v, err, _ := c.loading.Do("describe "+digest, func() (any, error) {
		return c.readDescription(context.WithoutCancel(ctx), digest)
	})
	if err != nil {
		return nil, err
	}
	return v.(*description), nil
}

func (c *Catalog) readDescription(ctx context.Context, digest string) (*description, error) {
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

// described returns the cached description of a module; nil if there is none.
func (c *Catalog) described(digest string) *description {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.byDigest[digest]; m != nil {
		return &description{m.Manifest, m.Code.Imports()}
	}
	return c.descriptions[digest]
}
