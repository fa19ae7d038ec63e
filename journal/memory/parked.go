package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cruster/cruster/journal"
)

// parked is a message that is parked.
type parked struct {
	journal.Parked
	message journal.Message
}

// parkedFull reports whether it takes no more messages because of its parked ones.
func (b *box) parkedFull() bool {
	return b != nil && (len(b.parked) >= journal.MaxParked || b.parkedBytes >= journal.MaxParkedBytes)
}

// unpark puts parked messages back.
func (b *box) unpark(w *journal.Write) error {
	for _, position := range w.Unpark {
		p, there := b.parked[position]
		if !there {
			return fmt.Errorf("memory: message %d for %s is not parked", position, w.ID)
		}
		delete(b.parked, position)
		b.parkedBytes -= p.message.Bytes
		b.messages[position] = p.message
		b.bytes += p.message.Bytes
	}
	return nil
}

// park parks messages.
func (b *box) park(w *journal.Write) error {
	for _, p := range w.Park {
		m, there := b.messages[p.Position]
		if !there {
			return fmt.Errorf("memory: there is no message %d for %s", p.Position, w.ID)
		}
		delete(b.messages, p.Position)
		b.bytes -= m.Bytes
		p.Reason = cloneError(p.Reason)
		b.parked[p.Position] = parked{p, m}
		b.parkedBytes += m.Bytes
	}
	return nil
}

// Parked implements journal.Store.
func (s *Store) Parked(ctx context.Context, f journal.ParkedFilter) ([]journal.ParkedMessage, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	compare := journal.CompareParked
	if !f.Entity.IsZero() {
		compare = func(a, b *journal.Parked) int { return cmp.Compare(a.Position, b.Position) }
	}
	var found []journal.ParkedMessage
	for to, b := range s.boxes {
		for _, p := range b.parked {
			if f.Namespace != "" && p.Namespace != f.Namespace || f.Type != "" && !ofType(p.Type, f.Type) ||
				!f.Entity.IsZero() && to.ID != f.Entity {
				continue
			}
			if f.After != nil && compare(&p.Parked, f.After) <= 0 {
				continue
			}
			m := journal.ParkedMessage{Entity: to.ID, Parked: p.Parked, Message: p.message.Envelope}
			m.Reason = cloneError(m.Reason)
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b journal.ParkedMessage) int { return compare(&a.Parked, &b.Parked) })
	return found[:min(len(found), limit)], nil
}
