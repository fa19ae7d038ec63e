package publish

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Workflows knows the declarations of workflows.
type Workflows interface {
	// Workflow returns the declaration of an execution's workflow in its module.
	Workflow(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error)
}

// Publisher merges published values, as workflows declare them.
type Publisher struct {
	Clock     clockwork.Clock
	Workflows Workflows
}

// Merged returns the published values after a body, if the workflow declares them.
func (p Publisher) Merged(
	ctx context.Context, row *journal.Execution, old *journal.Published, body *abi.Publish,
) (_ *journal.Published, refused *abi.Error, err error) {
	workflow, err := p.Workflows.Workflow(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	checked, err := workflow.CheckPublish(body)
	if err != nil {
		return nil, abi.AsError(err), nil
	}
	merged := &journal.Published{
		Attributes: overlayAttributes(old.Attributes, checked.Attributes),
		Progress:   cmp.Or(body.Progress, old.Progress),
		At:         p.Clock.Now().UnixNano(),
	}
	merged.State = slices.DeleteFunc(overlay(old.State, checked.State), func(s abi.Published) bool {
		return s.Value == nil
	})
	return merged, tooMuch(merged), nil
}

// overlayAttributes is overlay for attributes, without attributes whose value was removed.
func overlayAttributes(first []journal.NamedAttribute, second []abi.Published) []journal.NamedAttribute {
	both := slices.Clone(first)
	for _, p := range second {
		at, there := slices.BinarySearchFunc(both, p.Name, func(a journal.NamedAttribute, name string) int {
			return cmp.Compare(a.Name, name)
		})
		if there {
			both = slices.Delete(both, at, at+1)
		}
		if p.Value != nil {
			value, _ := abi.AttributeOf(p.Value) // it was checked
			both = slices.Insert(both, at, journal.NamedAttribute{Name: p.Name, Attribute: value})
		}
	}
	return both
}

// Overlaid is one body in the place of two: fields that the second does not name are as in the
// first.
func Overlaid(first, second *abi.Publish) *abi.Publish {
	return &abi.Publish{
		State:      overlay(first.State, second.State),
		Attributes: overlay(first.Attributes, second.Attributes),
		Progress:   cmp.Or(second.Progress, first.Progress),
	}
}

// overlay is a list in which values of the second replace those of the same names.
func overlay(first, second []abi.Published) []abi.Published {
	both := slices.Clone(first)
	for _, p := range second {
		at, there := slices.BinarySearchFunc(both, p.Name, func(p abi.Published, name string) int {
			return cmp.Compare(p.Name, name)
		})
		if there {
			both[at] = p
		} else {
			both = slices.Insert(both, at, p)
		}
	}
	return both
}

// tooMuch refuses more than a run may publish.
func tooMuch(p *journal.Published) *abi.Error {
	bytes := 0
	for _, s := range p.State {
		bytes += len(s.Value)
	}
	if bytes <= abi.MaxPublishedBytes && len(p.State) <= abi.MaxPublished && len(p.Attributes) <= abi.MaxPublished {
		return nil
	}
	return abi.Errorf(
		abi.CodePayloadTooLarge,
		"the state would have %d values with %d bytes, and %d attributes; the limits are %d, %d and %d",
		len(p.State), bytes, len(p.Attributes), abi.MaxPublished, abi.MaxPublishedBytes, abi.MaxPublished,
	).
		WithHint("Keep large data in your database or object store, and publish a reference.")
}

// Same tells whether two are alike, whenever they were published.
func Same(a, b *journal.Published) bool {
	return slices.EqualFunc(a.State, b.State, func(a, b abi.Published) bool {
		return a.Name == b.Name && string(a.Value) == string(b.Value)
	}) &&
		slices.Equal(a.Attributes, b.Attributes) && reflect.DeepEqual(a.Progress, b.Progress)
}
