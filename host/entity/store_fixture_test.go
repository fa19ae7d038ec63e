package entity

import (
	"context"
	"sync/atomic"

	"github.com/cruster/cruster/journal"
)

// watchedStore counts the reads of a store, and can hold pages of inboxes back.
type watchedStore struct {
	journal.Store
	receipts atomic.Int64 // reads of receipts
	inboxes  atomic.Int64 // reads of envelopes of whole inboxes
	// readInbox is called with each page that was read, before the entity gets it. Set before
	// there is an entity.
	readInbox func(id journal.ID)
}

func (s *watchedStore) Messages(
	ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
) ([]journal.Message, bool, error) {
	messages, more, err := s.Store.Messages(ctx, to, after, limit)
	if s.readInbox != nil {
		s.readInbox(to.ID)
	}
	return messages, more, err
}

func (s *watchedStore) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	s.inboxes.Add(1)
	return s.Store.Inbox(ctx, to, after)
}

func (s *watchedStore) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	s.receipts.Add(1)
	return s.Store.Receipt(ctx, id, origin)
}

func (s *watchedStore) Receipts(
	ctx context.Context, id journal.ID, origins []journal.Origin,
) ([]journal.Receipt, error) {
	s.receipts.Add(1)
	return s.Store.Receipts(ctx, id, origins)
}
