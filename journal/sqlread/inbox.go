package sqlread

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// noChain is the chain of the inboxes of entities.
var noChain any = []byte{}

// inbox makes the arguments that name an inbox, and adds others.
func inbox(to *journal.Receiver, more any) []any {
	chain := noChain
	if !to.Chain.IsZero() {
		chain = (*ID)(&to.Chain)
	}
	return []any{int16(to.ID.Shard()), (*ID)(&to.ID), chain, more}
}

// Inbox implements journal.Store.
func (r *Reader) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	return All(ctx, r, scanEnvelope, "inbox of", &to.ID, r.queries.Inbox, inbox(&to, number(after))...)
}

// Message implements journal.Store.
func (r *Reader) Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error) {
	return One(ctx, r, ScanMessage, "a message to", &to.ID, r.queries.Message, inbox(&to, number(position))...)
}

// FindMessage implements journal.Store.
func (r *Reader) FindMessage(
	ctx context.Context, to journal.Receiver, origin journal.Origin,
) (*journal.FoundMessage, error) {
	return One(ctx, r, scanFound, "a message to", &to.ID, r.queries.FindMessage, inbox(&to, (*ID)(&origin))...)
}

// Receipt implements journal.Store.
func (r *Reader) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	return One(
		ctx, r, ScanReceipt, "a receipt of", &id, r.queries.Receipt, int16(id.Shard()), (*ID)(&id), (*ID)(&origin),
	)
}

// Parked implements journal.Store.
func (r *Reader) Parked(ctx context.Context, f journal.ParkedFilter) ([]journal.ParkedMessage, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	place := f.Place()
	if !f.Entity.IsZero() {
		return All(ctx, r, scanParked, "parked messages of", &f.Entity, r.queries.ParkedOf,
			int16(f.Entity.Shard()), (*ID)(&f.Entity), number(place.Position), limit)
	}
	if err := r.queries.CheckText(f.Namespace, f.Type, place.Namespace, place.Type, place.Key); err != nil {
		return nil, err
	}
	if f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, bound := r.queries.Parked(&f)
	return All(ctx, r, scanParked, "parked messages", nil, query,
		place.Namespace, place.Type, place.Key, number(place.Position), bound, f.Type, limit)
}

// Published implements journal.Store.
func (r *Reader) Published(ctx context.Context, chain journal.RunKey) (*journal.Published, error) {
	return One(ctx, r, scanPublished, "what was published by run", &chain.Run, r.queries.Published,
		int16(chain.Shard), (*ID)(&chain.Run))
}
