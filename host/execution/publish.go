package execution

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// maxPublishedKept bounds the published values that a run keeps in memory. Most publish little, and
// often; larger values are read from the store each time.
const maxPublishedKept = 4 << 10

// publishedNow returns the published values of the run, which may be none. The kept copy equals the
// store: no one else writes it while this host owns the run, and it is replaced when a write that
// replaces it is durable (tookPublish), and forgotten with all the rest when it is not known
// whether one is (unload).
func (r *run) publishedNow() (*journal.Published, error) {
	if r.published != nil {
		return r.published, nil
	}
	published, err := r.execs.Rows.Published(r.execs.Host.Context(), r.row)
	if err == nil {
		r.keepPublished(published)
	}
	return published, err
}

func (r *run) keepPublished(p *journal.Published) {
	r.published = p
	if p.Size() > maxPublishedKept {
		r.published = nil
	}
}

// tookPublish notes the published values of a durable write.
func (r *run) tookPublish(w *journal.Write) {
	if w.Publish != nil {
		r.keepPublished(w.Publish)
	}
}

// publish adds to the values that a turn publishes. Refused tells the reason if not: all of the
// body is published, or nothing.
func (r *run) publish(did *ledger.Effects, body *abi.Publish) (refused *abi.Error, err error) {
	old := did.Publish
	if old == nil {
		if old, err = r.publishedNow(); err != nil {
			return nil, err
		}
	}
	published, refused, err := r.execs.publisher.merged(r.execs.Host.Context(), r.row, old, body)
	if err != nil || refused != nil {
		return refused, err
	}
	if !same(published, old) {
		did.Publish = published
	}
	return nil, nil
}

// publisher merges published values, as workflows declare them.
type publisher struct{ deps *Deps }

// merged returns the published values after a body, if the workflow declares them.
func (p publisher) merged(
	ctx context.Context, row *journal.Execution, old *journal.Published, body *abi.Publish,
) (_ *journal.Published, refused *abi.Error, err error) {
	workflow, err := p.deps.Programs.Workflow(ctx, row)
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
		At:         p.deps.now(),
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

// overlaid is one body in the place of two: fields that the second does not name are as in the
// first.
func overlaid(first, second *abi.Publish) *abi.Publish {
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

// same tells whether two are alike, whenever they were published.
func same(a, b *journal.Published) bool {
	return slices.EqualFunc(a.State, b.State, func(a, b abi.Published) bool {
		return a.Name == b.Name && string(a.Value) == string(b.Value)
	}) &&
		slices.Equal(a.Attributes, b.Attributes) && reflect.DeepEqual(a.Progress, b.Progress)
}
