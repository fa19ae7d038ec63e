package abi

import "slices"

// PublishedState finds a value that the runs of the workflow publish.
func (w *WorkflowInfo) PublishedState(name string) (*StateInfo, error) {
	if i := slices.IndexFunc(w.State, func(s StateInfo) bool { return s.Name == name }); i >= 0 {
		return &w.State[i], nil
	}
	names := make([]string, len(w.State))
	for i, s := range w.State {
		names[i] = s.Name
	}
	return nil, undeclared(CodeUnknownState, w.Name, "state", name, names)
}

// Attribute finds an attribute by which executions of the workflow are found.
func (w *WorkflowInfo) Attribute(name string) (*AttributeInfo, error) {
	if i := slices.IndexFunc(w.Attributes, func(a AttributeInfo) bool { return a.Name == name }); i >= 0 {
		return &w.Attributes[i], nil
	}
	names := make([]string, len(w.Attributes))
	for i, a := range w.Attributes {
		names[i] = a.Name
	}
	return nil, undeclared(CodeUnknownState, w.Name, "attribute", name, names)
}

// CheckPublish checks the values that a run publishes against the declarations of its workflow, and makes the values of
// its state canonical. The host and the test kit of the Go SDK both call it.
func (w *WorkflowInfo) CheckPublish(b *Publish) (*Publish, error) {
	checked := &Publish{Attributes: b.Attributes, Progress: b.Progress, State: slices.Clone(b.State)}
	for i, p := range b.State {
		info, err := w.PublishedState(p.Name)
		if err != nil {
			return nil, err
		}
		if p.Value == nil {
			continue
		}
		if checked.State[i].Value, err = checkValue("the state "+p.Name, info.Value, p.Value); err != nil {
			return nil, err
		}
	}
	for _, p := range b.Attributes {
		info, err := w.Attribute(p.Name)
		if err != nil {
			return nil, err
		}
		if p.Value == nil {
			continue
		}
		a, aerr := AttributeOf(p.Value)
		if aerr != nil {
			return nil, aerr
		}
		if a.Type != info.Type {
			return nil, Errorf(
				CodeBadAttribute, "the attribute %q of workflow %s is a %s, not a %s", p.Name, w.Name, info.Type,
				a.Type,
			)
		}
	}
	return checked, nil
}
