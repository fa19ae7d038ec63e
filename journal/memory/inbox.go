package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cruster/cruster/journal"
)

// box is what was sent to an execution or entity, and what is left of what it took. It is
// replaced, not changed.
type box struct {
	messages map[uint64]journal.Message // by position
	bytes    int                        // of messages
	origins  map[journal.Origin]bool    // of messages
	receipts map[journal.Origin]journal.Receipt
}

// clone is a copy to be changed; that of nil is empty.
func (b *box) clone() *box {
	if b == nil {
		return &box{messages: map[uint64]journal.Message{}, origins: map[journal.Origin]bool{}, receipts: map[journal.Origin]journal.Receipt{}}
	}
	return &box{messages: maps.Clone(b.messages), bytes: b.bytes, origins: maps.Clone(b.origins), receipts: maps.Clone(b.receipts)}
}

// knows tells whether a message of the origin is there, or was.
func (b *box) knows(origin journal.Origin) bool {
	_, taken := b.receipts[origin]
	return taken || b.origins[origin]
}

func (b *box) full(bytes int) bool {
	return len(b.messages) >= journal.MaxInbox || b.bytes+bytes > journal.MaxInboxBytes
}

// overfull tells whether it holds more than it may, also of what was sent by others.
func (b *box) overfull() bool {
	return len(b.messages) > journal.MaxSentInbox || b.bytes > journal.MaxSentInboxBytes
}

// release has messages delivered again that are not answered yet.
func (b *box) release() {
	for position, m := range b.messages {
		m.Held = false
		b.messages[position] = m
	}
}

// put adds a message at the position.
func (b *box) put(m journal.Message, position uint64) {
	m.Position, m.Value = position, bytes.Clone(m.Value)
	b.messages[position], b.origins[m.Origin] = m, true
	b.bytes += m.Bytes
}

// take takes messages out, holds others, and leaves receipts.
func (b *box) take(w *journal.Write) error {
	for _, position := range w.Take {
		m, there := b.messages[position]
		if !there {
			return fmt.Errorf("memory: there is no message %d for %s", position, w.ID)
		}
		delete(b.messages, position)
		delete(b.origins, m.Origin)
		b.bytes -= m.Bytes
	}
	for _, position := range w.Hold {
		m, there := b.messages[position]
		if !there {
			return fmt.Errorf("memory: there is no message %d for %s", position, w.ID)
		}
		m.Held = true
		b.messages[position] = m
	}
	for _, r := range w.Receipts {
		if _, there := b.receipts[r.Origin]; there {
			return fmt.Errorf("memory: there is a receipt %x of %s", r.Origin, w.ID)
		}
		b.receipts[r.Origin] = cloneReceipt(r)
	}
	return nil
}

func cloneReceipt(r journal.Receipt) journal.Receipt {
	r.Value, r.Error = bytes.Clone(r.Value), cloneError(r.Error)
	return r
}

// boxesLocked are the boxes that the Write changes, once it has received, taken, held, left
// receipts and sent, or what is wrong with that. The zero Result says that nothing is. What
// the Write takes does not matter to what it receives. Position is where the next message stands.
func (s *Store) boxesLocked(w *journal.Write) (after map[journal.ID]*box, position uint64, res journal.Result) {
	own := s.boxes[w.ID].clone()
	if m := w.Receive; m != nil {
		switch {
		case own.knows(m.Origin):
			return nil, 0, journal.Result{Existed: true}
		case own.full(m.Bytes):
			return nil, 0, journal.Result{Err: journal.ErrInboxFull}
		}
	}
	if err := own.take(w); err != nil {
		return nil, 0, journal.Result{Err: err}
	}
	position = s.position
	if w.Receive != nil {
		position++
		own.put(*w.Receive, position)
	}
	after = map[journal.ID]*box{w.ID: own}
	for _, sent := range w.Send {
		if after[sent.To] == nil {
			after[sent.To] = s.boxes[sent.To].clone()
		}
		if to := after[sent.To]; !to.knows(sent.Origin) {
			position++
			if to.put(sent.Message, position); to.overfull() {
				return nil, 0, journal.Result{Err: journal.ErrInboxFull}
			}
		}
	}
	return after, position, journal.Result{}
}

// inOrder lists the messages behind a position.
func (b *box) inOrder(after uint64) []journal.Message {
	if b == nil {
		return nil
	}
	var messages []journal.Message
	for position, m := range b.messages {
		if position > after {
			messages = append(messages, m)
		}
	}
	slices.SortFunc(messages, func(a, b journal.Message) int { return cmp.Compare(a.Position, b.Position) })
	return messages
}

// Inbox implements journal.Store.
func (s *Store) Inbox(ctx context.Context, id journal.ID, after uint64) ([]journal.Envelope, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var envelopes []journal.Envelope
	for _, m := range s.boxes[id].inOrder(after) {
		envelopes = append(envelopes, m.Envelope)
	}
	return envelopes, nil
}

// Messages implements journal.Store.
func (s *Store) Messages(ctx context.Context, id journal.ID, after uint64, limit journal.PageLimit) (messages []journal.Message, more bool, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	room := limit.Room()
	for _, m := range s.boxes[id].inOrder(after) {
		if !room.Take(m.Bytes) {
			return messages, true, nil
		}
		m.Value = bytes.Clone(m.Value)
		messages = append(messages, m)
	}
	return messages, false, nil
}

// Message implements journal.Store.
func (s *Store) Message(ctx context.Context, id journal.ID, position uint64) (*journal.Message, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	b := s.boxes[id]
	if b == nil {
		return nil, journal.ErrNotFound
	}
	m, there := b.messages[position]
	if !there {
		return nil, journal.ErrNotFound
	}
	m.Value = bytes.Clone(m.Value)
	return &m, nil
}

// Receipt implements journal.Store.
func (s *Store) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	b := s.boxes[id]
	if b == nil {
		return nil, journal.ErrNotFound
	}
	r, there := b.receipts[origin]
	if !there {
		return nil, journal.ErrNotFound
	}
	r = cloneReceipt(r)
	return &r, nil
}

// Receivers implements journal.Store.
func (s *Store) Receivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var ids []journal.ID
	for id, b := range s.boxes {
		if compareIDs(id, after) > 0 && b.isEntity() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	return ids[:min(len(ids), max(limit, 0))], nil
}

// isEntity tells whether the first message is one for an entity.
func (b *box) isEntity() bool {
	messages := b.inOrder(0)
	return len(messages) > 0 && (messages[0].Kind == journal.CallMessage || messages[0].Kind == journal.StartMessage)
}

func compareIDs(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) }

// SweepReceipts implements journal.Store.
func (s *Store) SweepReceipts(ctx context.Context, own []journal.Fence, before int64, limit int) (int, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if !slices.Equal(own, s.fences[:]) {
		return 0, journal.ErrFenced
	}
	type receipt struct {
		of journal.ID
		journal.Receipt
	}
	var expired []receipt
	for id, b := range s.boxes {
		for _, r := range b.receipts {
			if r.At < before && !s.liveLocked(r.From) {
				expired = append(expired, receipt{id, r})
			}
		}
	}
	slices.SortFunc(expired, func(a, b receipt) int {
		return cmp.Or(compareTimes(a.At, b.At, a.of, b.of), bytes.Compare(a.Origin[:], b.Origin[:]))
	})
	expired = expired[:min(len(expired), max(limit, 0))]
	for _, r := range expired {
		after := s.boxes[r.of].clone()
		delete(after.receipts, r.Origin)
		s.boxes[r.of] = after
	}
	return len(expired), nil
}

// liveLocked tells whether the run of a step is not over.
func (s *Store) liveLocked(step journal.Caller) bool {
	e, ok := s.executions[step.ID]
	return ok && e.row.Run == step.Run && !e.row.State.Final()
}
