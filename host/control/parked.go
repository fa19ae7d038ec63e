package control

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// ParkedMessage is a message of an entity that could not be performed.
type ParkedMessage struct {
	journal.ParkedMessage
	// Sender is the name of the execution that sent it; empty if a client or an entity did, or if it is gone.
	Sender string
}

// Parked pages through messages of entities that could not be performed: of one entity by position,
// of a namespace by type, id and position.
func (x *Entities) Parked(ctx context.Context, f journal.ParkedFilter) ([]ParkedMessage, error) {
	if f.Entity.IsZero() {
		f.Namespace = cmp.Or(f.Namespace, journal.DefaultNamespace)
	}
	found, err := x.deps.Entities.Parked.List(ctx, f)
	if err != nil {
		return nil, err
	}
	messages := make([]ParkedMessage, len(found))
	for i := range found {
		messages[i] = ParkedMessage{found[i], x.nameOf(ctx, found[i].Message.From)}
	}
	return messages, nil
}

// CountParked counts the parked messages of an entity, up to as many as a page has.
func (x *Entities) CountParked(ctx context.Context, namespace, name string) (int, error) {
	ref, err := target.RefOf(cmp.Or(namespace, journal.DefaultNamespace), name)
	if err != nil {
		return 0, err
	}
	found, err := x.deps.Entities.Parked.List(ctx, journal.ParkedFilter{Entity: ref.ID(), Limit: journal.MaxParked})
	return len(found), err
}

// RetryParked has parked messages of an entity performed: the messages at some positions, or all if there are none. It
// returns how many, once they are in the inbox.
func (x *Entities) RetryParked(ctx context.Context, namespace, name string, positions []uint64) (int, error) {
	ref, err := target.RefOf(cmp.Or(namespace, journal.DefaultNamespace), name)
	if err != nil {
		return 0, err
	}
	return x.deps.Entities.Parked.Retry(ctx, ref, positions)
}

// DropParked gives parked messages of an entity up, for good: the messages at some positions, or all if there are none.
// It returns how many.
func (x *Entities) DropParked(ctx context.Context, namespace, name string, positions []uint64) (int, error) {
	ref, err := target.RefOf(cmp.Or(namespace, journal.DefaultNamespace), name)
	if err != nil {
		return 0, err
	}
	return x.deps.Entities.Parked.Drop(ctx, ref, positions)
}
