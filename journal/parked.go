package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cruster/cruster/abi"
)

// # Parked messages
//
// A message that was acknowledged and cannot be performed is parked: it is kept, with the reason,
// and is not in the inbox any more. An operator has it retried, or drops it.
//
// Invariants:
//
//  1. A parked message keeps its origin: another one of that origin takes no effect.
//  2. It keeps its position: a retried one comes before the messages that were sent after it
//     and are not taken yet.
//  3. It does not count against the bounds of the inbox. It has bounds of its own, and an entity
//     that has reached one takes no more messages. Parking itself is never refused: a parked message
//     was accepted before.

// Bounds of the parked messages of an entity: see invariant 3.
const (
	MaxParked      = 1000
	MaxParkedBytes = MaxInboxBytes
)

// Parked says why a message is not performed, and which entity it is for.
type Parked struct {
	Position uint64
	// Namespace, Type and Key name the entity, as in [Entity]. They are empty if a message is so
	// damaged that it does not say.
	Namespace string
	Type      string
	Key       string
	// At is when it was parked.
	At int64
	// Attempts is how often it was tried before that.
	Attempts int
	Reason   *abi.Error
}

// ParkedMessage is a message that is parked.
type ParkedMessage struct {
	Entity ID
	Parked
	Message Envelope
}

// ParkedBody holds the fields that no store queries.
type ParkedBody struct {
	At       int64      `msgpack:"at"`
	Attempts int        `msgpack:"attempts"`
	Reason   *abi.Error `msgpack:"reason"`
}

// Body is the part of p that stores keep as one value.
func (p *Parked) Body() *ParkedBody { return &ParkedBody{p.At, p.Attempts, p.Reason} }

// SetBody takes over the fields kept by a store.
func (p *Parked) SetBody(b *ParkedBody) { p.At, p.Attempts, p.Reason = b.At, b.Attempts, b.Reason }

func (p *Parked) check() error {
	switch {
	case p.Position == 0 || p.Position > math.MaxInt64:
		return fmt.Errorf("it has position %d", p.Position)
	case p.Reason == nil:
		return errors.New("there is no reason")
	}
	return nil
}

// ParkedFilter selects parked messages. Zero fields select all.
type ParkedFilter struct {
	Namespace string
	// Type is "deployment/Name", or "deployment/" for all of a deployment.
	Type string
	// Entity is one entity: its messages are listed in the order of their positions, also those so
	// damaged that they do not say which entity they are for. It comes without a namespace and a type.
	Entity ID
	// After is the last message of the previous page; its names and position matter; nil at first.
	After *Parked
	// Limit is the page's size: 1 to 1000; 0 means 100.
	Limit int
}

// Size is how many messages a page has at most; a store's Parked begins with it.
func (f *ParkedFilter) Size() (int, error) {
	if !f.Entity.IsZero() && f.Namespace+f.Type != "" {
		return 0, abi.Errorf(abi.CodeBadRequest, "the id of an entity comes without a namespace and a type")
	}
	return pageSize(f.Limit, "messages")
}

// Place is where a page begins: behind it in the order of the list.
func (f *ParkedFilter) Place() Parked {
	first := Parked{Namespace: f.Namespace, Type: f.Type}
	if f.After != nil && (!f.Entity.IsZero() || CompareParked(f.After, &first) > 0) {
		return *f.After
	}
	return first
}

// Bound is like [EntityFilter.Bound].
func (f *ParkedFilter) Bound() (operator, bound string) {
	return (&EntityFilter{Type: f.Type}).Bound()
}

// CompareParked compares two by their places in a list.
func CompareParked(a, b *Parked) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Position, b.Position),
	)
}

// ParkedReader reads parked messages.
type ParkedReader interface {
	// Parked lists parked messages in the order of (Namespace, Type, Key, Position), without
	// payloads.
	Parked(ctx context.Context, f ParkedFilter) ([]ParkedMessage, error)
}
