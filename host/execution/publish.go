package execution

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// publish adds to what a turn publishes. Refused says why it is not: all of the body is
// published, or nothing.
func (r *run) publish(did *own, body *abi.Publish) (refused *abi.Error, err error) {
	ctx := r.Host.Context()
	old := did.publish
	if old == nil {
		if old, err = r.Published(ctx, r.row); err != nil {
			return nil, err
		}
	}
	published, refused, err := r.merged(ctx, r.row, old, body)
	if err != nil || refused != nil {
		return refused, err
	}
	if !same(published, old) {
		did.publish = published
	}
	return nil, nil
}

// Published is what an execution has published, which may be nothing.
func (x *Executions) Published(ctx context.Context, row *journal.Execution) (*journal.Published, error) {
	published, err := x.Store.Published(ctx, row.ID)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return &journal.Published{}, nil
	case err != nil:
		return nil, journal.Coded("read what "+row.Name()+" has published", err)
	}
	return published, nil
}

// merged is what is published after a body, if that is what the workflow declares.
func (x *Executions) merged(ctx context.Context, row *journal.Execution, old *journal.Published, body *abi.Publish) (_ *journal.Published, refused *abi.Error, err error) {
	workflow, err := x.WorkflowOf(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	checked, err := workflow.CheckPublish(body)
	if err != nil {
		return nil, abi.AsError(err), nil
	}
	p := &journal.Published{State: slices.Clone(old.State), Attributes: slices.Clone(old.Attributes), Progress: old.Progress, At: x.now()}
	for _, s := range checked.State {
		if p.State, _ = without(p.State, s.Name, func(s abi.Published) string { return s.Name }); s.Value != nil {
			p.State = append(p.State, s)
		}
	}
	for _, a := range checked.Attributes {
		if p.Attributes, _ = without(p.Attributes, a.Name, func(a journal.NamedAttribute) string { return a.Name }); a.Value != nil {
			value, _ := abi.AttributeOf(a.Value) // it was checked
			p.Attributes = append(p.Attributes, journal.NamedAttribute{Name: a.Name, Attribute: value})
		}
	}
	slices.SortFunc(p.State, func(a, b abi.Published) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Attributes, func(a, b journal.NamedAttribute) int { return cmp.Compare(a.Name, b.Name) })
	if body.Progress != nil {
		p.Progress = body.Progress
	}
	return p, tooMuch(p), nil
}

func without[T any](list []T, name string, of func(T) string) ([]T, bool) {
	n := len(list)
	list = slices.DeleteFunc(list, func(t T) bool { return of(t) == name })
	return list, len(list) < n
}

// tooMuch refuses what is more than a run may publish.
func tooMuch(p *journal.Published) *abi.Error {
	bytes := 0
	for _, s := range p.State {
		bytes += len(s.Value)
	}
	if bytes <= abi.MaxPublishedBytes && len(p.State) <= abi.MaxPublished && len(p.Attributes) <= abi.MaxPublished {
		return nil
	}
	return abi.Errorf(abi.CodePayloadTooLarge, "the state would have %d values with %d bytes, and %d attributes; the limits are %d, %d and %d",
		len(p.State), bytes, len(p.Attributes), abi.MaxPublished, abi.MaxPublishedBytes, abi.MaxPublished).
		WithHint("Keep large data in your database or object store, and publish a reference.")
}

// same tells whether two are alike, whenever they were published.
func same(a, b *journal.Published) bool {
	return slices.EqualFunc(a.State, b.State, func(a, b abi.Published) bool { return a.Name == b.Name && string(a.Value) == string(b.Value) }) &&
		slices.Equal(a.Attributes, b.Attributes) && reflect.DeepEqual(a.Progress, b.Progress)
}
