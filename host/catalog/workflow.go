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
	var names []string
	for _, w := range m.Workflows {
		names = append(names, deployment+"/"+w.Name)
	}
	return abi.Errorf(abi.CodeUnknownWorkflow, "deployment %q has no workflow %.100q", deployment, name).
		WithHint("It has %s.", strings.Join(names, ", "))
}

// CheckInput bounds the request of a start, makes it canonical and checks it
// against the workflow's type.
func CheckInput(w *abi.WorkflowInfo, input []byte) ([]byte, error) {
	if input == nil {
		input = absentInput(w.Input)
	}
	if len(input) > abi.MaxPayload {
		return nil, abi.Errorf(abi.CodePayloadTooLarge, "the input has %d bytes, the limit is %d", len(input), abi.MaxPayload)
	}
	canonical, err := abi.Canonical(input)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadInput, "the input is not one msgpack value: %v", err)
	}
	if w.Input != nil {
		if err := w.Input.Check(canonical); err != nil {
			return nil, err
		}
	}
	return canonical, nil
}

// absentInput stands for a request that was left out: an empty struct if the
// workflow requires no field, and null otherwise.
func absentInput(s *abi.Schema) []byte {
	if s == nil || s.Type != abi.TypeStruct || s.Nullable {
		return abi.Nil
	}
	for _, f := range s.Fields {
		if f.Required {
			return abi.Nil
		}
	}
	return abi.MustMarshal(map[string]any{})
}
