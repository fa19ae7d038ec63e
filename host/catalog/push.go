package catalog

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// PushRequest uploads a module and points a deployment at it.
type PushRequest struct {
	Namespace string
	Name      string
	Binary    []byte
	Settings
	Uses
	// Accept, if set, is asked before anything is stored, and may refuse the module. Behind it no other push changes
	// the deployment.
	Accept func(ctx context.Context, m *abi.Manifest) error
}

// Push validates, compiles and deploys a module, and dates it by the clock now when it takes effect. If
// anything about it is not acceptable nothing is stored.
func (c *Catalog) Push(ctx context.Context, req PushRequest, now func() int64) (*DeploymentInfo, error) {
	if !deploymentName.MatchString(req.Name) {
		return nil, abi.Errorf(abi.CodeBadDeployment, "%.80q is not a valid name for a deployment", req.Name)
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	if err := c.accept(req.Binary); err != nil {
		return nil, err
	}
	m, err := c.compile(ctx, wasm.Digest(req.Binary), req.Binary)
	if err != nil {
		return nil, err
	}
	if req.Accept != nil {
		if err := req.Accept(ctx, m.Manifest); err != nil {
			c.forgetUnlessStored(ctx, m.Code.Digest())
			return nil, err
		}
	}
	digest := m.Code.Digest()
	config, allow, err := c.changed(ctx, &req, m.Manifest)
	if err != nil {
		c.forgetUnlessStored(ctx, digest)
		return nil, err
	}
	c.mu.Lock()
	forgotten := c.forgotten
	c.mu.Unlock()
	c.Fault.Pass(faultpoint.DeployBeforeCommit)
	at := now()
	stored, err := c.store.Deploy(ctx,
		journal.Module{Digest: digest, Binary: req.Binary, Manifest: abi.MustMarshal(m.Manifest), CreatedAt: at},
		journal.Deployment{
			Namespace: req.Namespace, Name: req.Name, Digest: digest,
			Config: config, AllowHTTP: allow, UpdatedAt: at,
		},
		m.Manifest.Migrations)
	if err != nil {
		// It may have got through all the same, if the answer was lost.
		c.ForgetDeployments()
		c.forgetUnlessStored(ctx, digest)
		return nil, journal.Coded("deploy "+req.Name, err)
	}
	c.Fault.Pass(faultpoint.DeployAfterCommit)
	if _, err := c.remember(stored, forgotten); err != nil {
		return nil, err
	}
	return &DeploymentInfo{Deployment: stored, Manifest: m.Manifest, Imports: m.Code.Imports()}, nil
}

// Bounds of a deployment's configuration.
const (
	maxConfigValues = 1000
	maxConfigBytes  = 64 << 10
)

func checkConfig(config map[string]string) error {
	if len(config) > maxConfigValues {
		return abi.Errorf(
			abi.CodeBadDeployment, "%d configuration values are too many, the limit is %d", len(config),
			maxConfigValues,
		)
	}
	for k, v := range config {
		if !itemName.MatchString(k) || len(k) > abi.MaxName {
			return abi.Errorf(abi.CodeBadDeployment, "%.80q is not a valid name for a configuration value", k)
		}
		if len(v) > maxConfigBytes {
			return abi.Errorf(
				abi.CodeBadDeployment, "the configuration value %q has %d bytes, the limit is %d", k, len(v),
				maxConfigBytes,
			)
		}
	}
	return nil
}
