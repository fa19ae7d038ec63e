package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Workflow is a workflow type that can be started, with the module that has it.
type Workflow struct {
	*abi.WorkflowInfo
	Module *Module
	Digest string
}

// Workflow finds a workflow by its type, "deployment/Name", in the module that is
// deployed now.
func (c *Catalog) Workflow(ctx context.Context, namespace, workflow string) (*Workflow, error) {
	deployment, name, ok := strings.Cut(workflow, "/")
	if !ok || deployment == "" || name == "" {
		return nil, abi.Errorf(abi.CodeUnknownWorkflow, "%.200q does not name a workflow", workflow)
	}
	d, err := c.Deployment(ctx, namespace, deployment)
	if err != nil {
		return nil, err
	}
	m, err := c.Module(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Manifest.Workflows, func(w abi.WorkflowInfo) bool { return w.Name == name })
	if i < 0 {
		return nil, unknownWorkflow(m.Manifest, deployment, name)
	}
	return &Workflow{WorkflowInfo: &m.Manifest.Workflows[i], Module: m, Digest: d.Digest}, nil
}

func unknownWorkflow(m *abi.Manifest, deployment, name string) error {
	var names, full []string
	for _, w := range m.Workflows {
		names, full = append(names, w.Name), append(full, deployment+"/"+w.Name)
	}
	err := abi.Errorf(abi.CodeUnknownWorkflow, "deployment %q has no workflow %.100q%s", deployment, name, abi.DidYouMean(name, names))
	if len(names) == 0 {
		return err.WithHint("Its module declares no workflows.")
	}
	return err.WithHint("It has %s.", strings.Join(full, ", "))
}
