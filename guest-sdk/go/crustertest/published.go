package crustertest

import (
	"fmt"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Published is the state of an execution visible from outside: see [PublishedAfter], and [History].
// Read it with [ReadState] and [ReadAttribute].
type Published struct {
	State      map[string][]byte // msgpack
	Attributes map[string][]byte // msgpack
	// Progress is nil if none was published.
	Progress *abi.Progress
}

// PublishedAfter hands fn the published state of the execution at a virtual time after its start.
func PublishedAfter(d time.Duration, fn func(*Published)) Option {
	return outside(d, func(r *run) { p := r.published.clone(); fn(&p) })
}

// ReadState is a value that was published; false if there is none.
func ReadState[T any](p *Published, s cruster.State[T]) (T, bool) {
	return readPublished[T]("state "+s.Name(), p.State, s.Name())
}

// ReadAttribute is an attribute that was published; false if there is none.
func ReadAttribute[T cruster.AttributeValue](p *Published, a cruster.Attribute[T]) (T, bool) {
	return readPublished[T]("attribute "+a.Name(), p.Attributes, a.Name())
}

func readPublished[T any](what string, values map[string][]byte, name string) (T, bool) {
	var v T
	b, ok := values[name]
	if !ok {
		return v, false
	}
	if err := abi.Unmarshal(b, &v); err != nil {
		panic(fmt.Sprintf("crustertest: the %s: %v", what, err))
	}
	return v, true
}

// checkPublish refuses, as a host does, undeclared values and values over the size limit.
func (r *run) checkPublish(b *abi.Publish) *abi.Error {
	wf, ok := r.module.Workflow(r.workflow)
	if !ok {
		return nil
	}
	if err := wf.CheckPublish(b); err != nil {
		return abi.AsError(err)
	}
	after := r.published.clone()
	after.apply(b)
	size := 0
	for _, v := range after.State {
		size += len(v)
	}
	if size > abi.MaxPublishedBytes || len(after.State) > abi.MaxPublished || len(after.Attributes) > abi.MaxPublished {
		return abi.Errorf(
			abi.CodePayloadTooLarge,
			"the state would have %d values with %d bytes, and %d attributes; the limits are %d, %d and %d",
			len(after.State), size, len(after.Attributes), abi.MaxPublished, abi.MaxPublishedBytes, abi.MaxPublished,
		).
			WithHint("Keep large data in your database or object store, and publish a reference.")
	}
	return nil
}

func (p *Published) apply(b *abi.Publish) {
	if b.Progress != nil {
		p.Progress = b.Progress
	}
	p.State, p.Attributes = changed(p.State, b.State), changed(p.Attributes, b.Attributes)
}

func changed(values map[string][]byte, by []abi.Published) map[string][]byte {
	all := map[string][]byte{}
	for name, v := range values {
		all[name] = v
	}
	for _, p := range by {
		if all[p.Name] = p.Value; p.Value == nil {
			delete(all, p.Name)
		}
	}
	return all
}

func (p *Published) clone() Published {
	return Published{State: changed(p.State, nil), Attributes: changed(p.Attributes, nil), Progress: p.Progress}
}
