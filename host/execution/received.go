package execution

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// received is what has just arrived for a run. A message is mostly waited for: a little of
// them is in hand while notices are handled, so that the store need not be asked. Of all
// others the ledger knows that they are there, and the store what they bring.
type received struct {
	inHand map[uint64]journal.Message // by position
	bytes  int
}

func newReceived() received { return received{inHand: map[uint64]journal.Message{}} }

// add takes a message that is durable.
func (s *received) add(m journal.Message) {
	if s.bytes+m.Bytes <= maxInHand {
		s.inHand[m.Position] = m
		s.bytes += m.Bytes
	}
}

// letGo drops what is in hand.
func (s *received) letGo() {
	clear(s.inHand)
	s.bytes = 0
}

// fill puts into a batch what its messages bring.
func (s *received) fill(ctx context.Context, store Store, id journal.ID, b *batch) error {
	for i, m := range b.messages {
		if m == nil {
			continue
		}
		whole, ok := s.inHand[m.Position]
		if !ok {
			read, err := store.Message(ctx, id, m.Position)
			if err != nil {
				return err
			}
			whole = *read
		}
		b.messages[i] = &whole
		b.entries[i].Value = deliveredAs(whole)
	}
	return nil
}
