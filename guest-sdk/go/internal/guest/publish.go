package guest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// StateValue is a value that the runs of a workflow publish.
type StateValue struct {
	Name string
	Type reflect.Type
}

// PublishState registers a value that the runs of a workflow publish. It panics if the workflow has one of that name.
func (w *Workflow) PublishState(v StateValue) {
	if w.publishesState(v.Name) {
		panic(fmt.Sprintf("cruster: workflow %s publishes the state %q twice", w.Name, v.Name))
	}
	w.State = append(w.State, v)
}

// PublishAttribute registers an attribute of the runs of a workflow. It panics if the workflow has one of that name.
func (w *Workflow) PublishAttribute(a abi.AttributeInfo) {
	if w.publishesAttribute(a.Name) {
		panic(fmt.Sprintf("cruster: workflow %s publishes the attribute %q twice", w.Name, a.Name))
	}
	w.Attributes = append(w.Attributes, a)
}

func (w *Workflow) publishesState(name string) bool {
	return slices.ContainsFunc(w.State, func(v StateValue) bool { return v.Name == name })
}

func (w *Workflow) publishesAttribute(name string) bool {
	return slices.ContainsFunc(w.Attributes, func(a abi.AttributeInfo) bool { return a.Name == name })
}

func (w *Workflow) stateInfo() []abi.StateInfo {
	if len(w.State) == 0 {
		return nil
	}
	all := make([]abi.StateInfo, 0, len(w.State))
	for _, v := range w.State {
		CheckTypes(fmt.Sprintf("state %q", v.Name), v.Type)
		all = append(all, abi.StateInfo{Name: v.Name, Value: SchemaOf(v.Type)})
	}
	slices.SortFunc(all, func(a, b abi.StateInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (w *Workflow) attributeInfo() []abi.AttributeInfo {
	all := slices.Clone(w.Attributes)
	slices.SortFunc(all, func(a, b abi.AttributeInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// CheckPublish refuses undeclared values and values of another type, as a host does.
func (w *Workflow) CheckPublish(b *abi.Publish) error {
	for _, p := range b.State {
		i := slices.IndexFunc(w.State, func(v StateValue) bool { return v.Name == p.Name })
		if i < 0 {
			return abi.Errorf(abi.CodeUnknownState, "workflow %s does not publish the state %s", w.Name, p.Name)
		}
		if schema := SchemaOf(w.State[i].Type); schema != nil && p.Value != nil {
			if err := schema.Check(p.Value); err != nil {
				return err
			}
		}
	}
	for _, p := range b.Attributes {
		i := slices.IndexFunc(w.Attributes, func(a abi.AttributeInfo) bool { return a.Name == p.Name })
		if i < 0 {
			return abi.Errorf(abi.CodeUnknownState, "workflow %s does not publish the attribute %s", w.Name, p.Name)
		}
		if a, err := abi.AttributeOf(p.Value); p.Value != nil && (err != nil || a.Type != w.Attributes[i].Type) {
			return abi.Errorf(
				abi.CodeBadAttribute, "the attribute %s of workflow %s is a %s", p.Name, w.Name, w.Attributes[i].Type,
			)
		}
	}
	return nil
}

// publisher holds the published values of a run.
//
// One op at the end of the turn publishes its changes.
type publisher struct {
	call *Call
	// state and attributes are the values set by this run.
	state, attributes map[string][]byte
	progress          *abi.Progress
	// changed holds the unpublished changes.
	changed abi.Publish
}

// publisher returns the publisher of the execution, made on first use. It panics unless the
// workflow declares the published values.
func (s Scope) publisher(call *Call, what Label, declared func(*Workflow, string) bool) *publisher {
	s.check(what.String())
	s.co.beginCall(what)
	defer s.co.endCall()
	ex := s.co.ex
	if declared != nil && !declared(ex.workflow, what.Name) {
		panic(abi.Errorf(
			abi.CodeWrongContext,
			"workflow %s does not publish the %s: declare it where the workflow is made, with Publishes",
			ex.workflow.Name, what,
		))
	}
	if ex.published == nil {
		ex.published = &publisher{call: call, state: map[string][]byte{}, attributes: map[string][]byte{}}
	}
	return ex.published
}

// PublishState sets a value of the run's state; nil takes it away. A value that is too large
// changes nothing.
func (s Scope) PublishState(call *Call, name string, value []byte) error {
	p := s.publisher(call, Label{"state", name}, (*Workflow).publishesState)
	size := len(value)
	for other, v := range p.state {
		if other != name {
			size += len(v)
		}
	}
	if size > abi.MaxPublishedBytes {
		return abi.Errorf(
			abi.CodePayloadTooLarge, "the published state has %d bytes, the limit is %d", size, abi.MaxPublishedBytes,
		).
			WithHint("Publish what others need to see at a glance, and keep the rest in the workflow, in an entity or in SQL.")
	}
	set(p.state, &p.changed.State, name, value)
	return nil
}

// PublishedState is a value that this run has set; nil if there is none.
func (s Scope) PublishedState(call *Call, name string) []byte {
	return s.publisher(call, Label{"state", name}, (*Workflow).publishesState).state[name]
}

// PublishAttribute sets an attribute of the run; nil takes it away.
func (s Scope) PublishAttribute(call *Call, name string, value []byte) {
	p := s.publisher(call, Label{"attribute", name}, (*Workflow).publishesAttribute)
	set(p.attributes, &p.changed.Attributes, name, value)
}

// PublishProgress says how far the run is.
func (s Scope) PublishProgress(call *Call, progress abi.Progress) {
	p := s.publisher(call, Label{"progress", ""}, nil)
	if p.progress == nil || *p.progress != progress {
		p.progress, p.changed.Progress = &progress, &progress
	}
}

// set changes a value, and notes it unless the value was the same.
func set(values map[string][]byte, changed *[]abi.Published, name string, value []byte) {
	if old, ok := values[name]; ok && bytes.Equal(old, value) && (old == nil) == (value == nil) {
		return
	}
	values[name] = value
	i, found := slices.BinarySearchFunc(*changed, name, func(p abi.Published, name string) int {
		return strings.Compare(p.Name, name)
	})
	if !found {
		*changed = slices.Insert(*changed, i, abi.Published{Name: name})
	}
	(*changed)[i].Value = value
}

// publish publishes the changes.
func (ex *Execution) publish() {
	p := ex.published
	if p.changed.Progress == nil && len(p.changed.State)+len(p.changed.Attributes) == 0 {
		return
	}
	body := EncodeBody(p.changed)
	p.changed = abi.Publish{}
	ex.ask(p.call, body)
}
