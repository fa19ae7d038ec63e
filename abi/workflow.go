package abi

import (
	"slices"
	"strings"
)

// Workflow finds a workflow of the module, which has this name as a deployment.
func (m *Manifest) Workflow(deployment, name string) (*WorkflowInfo, error) {
	if i := slices.IndexFunc(m.Workflows, func(w WorkflowInfo) bool { return w.Name == name }); i >= 0 {
		return &m.Workflows[i], nil
	}
	names, full := make([]string, len(m.Workflows)), make([]string, len(m.Workflows))
	for i := range m.Workflows {
		names[i], full[i] = m.Workflows[i].Name, deployment+"/"+m.Workflows[i].Name
	}
	err := Errorf(CodeUnknownWorkflow, "deployment %q has no workflow %.100q%s", deployment, name, DidYouMean(name, names))
	if len(names) == 0 {
		return nil, err.WithHint("Its module declares no workflows.")
	}
	return nil, err.WithHint("It has %s.", strings.Join(full, ", "))
}

// HasActivity tells whether a module has an activity of that name. A module that lists none does not say.
func (m *Manifest) HasActivity(name string) bool {
	return len(m.Activities) == 0 || slices.ContainsFunc(m.Activities, func(a ActivityInfo) bool { return a.Name == name })
}
