package catalog

import (
	"context"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Workflow is a workflow type that can be started, with the module that has it.
type Workflow struct {
	*abi.WorkflowInfo
	Module *Module
	Digest string
}

// Workflow finds a workflow by its type, "deployment/Name", in the module that is deployed now.
func (c *Catalog) Workflow(ctx context.Context, namespace, workflow string) (*Workflow, error) {
	deployment, name, err := splitType(workflow)
	if err != nil {
		return nil, err
	}
	d, err := c.Deployment(ctx, namespace, deployment)
	if err != nil {
		return nil, err
	}
	m, err := c.Module(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	info, err := m.Manifest.Workflow(deployment, name)
	if err != nil {
		return nil, err
	}
	return &Workflow{WorkflowInfo: info, Module: m, Digest: d.Digest}, nil
}

// splitType splits the type of a workflow, "deployment/Name".
func splitType(workflow string) (deployment, name string, err error) {
	deployment, name, ok := strings.Cut(workflow, "/")
	if !ok || deployment == "" || name == "" {
		return "", "", abi.Errorf(abi.CodeUnknownWorkflow, "%.200q does not name a workflow", workflow)
	}
	return deployment, name, nil
}

// WholeDeployment is the deployment if a filter is for all of it: "orders/".
func WholeDeployment(filter string) (deployment string, ok bool) {
	deployment, ok = strings.CutSuffix(filter, "/")
	return deployment, ok && deployment != "" && !strings.Contains(deployment, "/")
}
