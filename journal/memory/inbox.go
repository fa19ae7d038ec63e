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

// box is an inbox. It is replaced, not changed.
type box struct {
	messages map[uint64]journal.Message // by position
	bytes    int                        // of messages
	origins  map[journal.Origin]bool    // of messages, parked or not
	parked   map[uint64]parked          // by position
	// parkedBytes is the size of the parked messages.
	parkedBytes int
}

// receiptKey names a receipt.
type receiptKey struct {
	id     journal.ID // of the receiver
	origin journal.Origin
}

// clone returns a copy to be changed; nil yields an empty box.
func (b *box) clone() *box {
	if b == nil {
		return &box{
			messages: map[uint64]journal.Message{}, origins: map[journal.Origin]bool{}, parked: map[uint64]parked{},
		}
	}
	return &box{
		messages: maps.Clone(b.messages), bytes: b.bytes, origins: maps.Clone(b.origins),
		parked: maps.Clone(b.parked), parkedBytes: b.parkedBytes,
	}
}

// knowsLocked tells whether a message of the origin is there, or was taken. A write leaves
// receipts before it sends.
func (s *Store) knowsLocked(to journal.ID, b *box, origin journal.Origin, w *journal.Write) bool {
	_, taken := s.receipts[receiptKey{to, origin}]
	return taken || b.origins[origin] ||
		to == w.ID && slices.ContainsFunc(w.Receipts, func(r journal.Receipt) bool { return r.Origin == origin })
}

// full tells whether there is no room for a message to be received.
func (b *box) full(m *journal.Message) bool {
	limit, bounded := m.Kind.Limit()
	return bounded && (limit.Exceeded(int64(len(b.messages)), int64(b.bytes), m.Bytes) || b.parkedFull())
}

// overfull reports whether it exceeds its bounds, also the bounds for messages sent by others.
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

// take takes messages out and holds others.
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
	return nil
}

// checkReceiptsLocked finds a receipt that is there already.
func (s *Store) checkReceiptsLocked(w *journal.Write) error {
	for i, r := range w.Receipts {
		_, there := s.receipts[receiptKey{w.ID, r.Origin}]
		if there || slices.ContainsFunc(w.Receipts[:i], func(o journal.Receipt) bool { return o.Origin == r.Origin }) {
			return fmt.Errorf("memory: there is a receipt %x of %s", r.Origin, w.ID)
		}
	}
	return nil
}

func cloneReceipt(r journal.Receipt) journal.Receipt {
	r.Value, r.Error = bytes.Clone(r.Value), cloneError(r.Error)
	return r
}

// boxesLocked are the boxes that the Write changes, once it has received, taken, held, left
// receipts and sent, or the error of that. The zero Result is success. The messages that the Write
// takes do not matter to the message that it receives. Position is the position of the next message.
func (s *Store) boxesLocked(w *journal.Write) (after map[journal.Receiver]*box, position uint64, res journal.Result) {
	own := s.boxes[w.Receiver()].clone()
	after = map[journal.Receiver]*box{w.Receiver(): own}
	receives := own
	if m := w.Receive; m != nil {
		if to := w.ReceivedBy(); after[to] == nil {
			receives = s.boxes[to].clone()
			after[to] = receives
		}
		_, known := s.receipts[receiptKey{w.ID, m.Origin}]
		if old := s.executions[w.ID]; !known && !w.Replace.IsZero() && old != nil {
			known = s.boxes[old.row.Receiver()].clone().origins[m.Origin]
		}
		switch {
		case known || receives.origins[m.Origin]:
			return nil, 0, journal.Result{Existed: true}
		case receives.full(m):
			return nil, 0, journal.Result{Err: journal.ErrInboxFull}
		}
	}
	err := own.unpark(w)
	if err == nil {
		err = own.take(w)
	}
	if err == nil {
		err = own.park(w)
	}
	if err == nil {
		err = s.checkReceiptsLocked(w)
	}
	if err != nil {
		return nil, 0, journal.Result{Err: err}
	}
	position = s.position
	if w.Receive != nil {
		position++
		receives.put(*w.Receive, position)
	}
	var bounded []journal.Receiver // that messages are put into which a full inbox refuses
	for i := range w.Send {
		sent := &w.Send[i]
		receiver := w.ReceiverOf(sent)
		if after[receiver] == nil {
			after[receiver] = s.boxes[receiver].clone()
		}
		if to := after[receiver]; !s.knowsLocked(sent.To, to, sent.Origin, w) {
			if sent.Kind.Bounded() {
				bounded = append(bounded, receiver)
			}
			position++
			to.put(sent.Message, position)
		}
	}
	for _, receiver := range bounded {
		if after[receiver].overfull() || s.boxes[receiver].parkedFull() {
			return nil, 0, journal.Result{Err: journal.ErrInboxFull}
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
func (s *Store) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	return alone(ctx, s, func() ([]journal.Envelope, error) {
		var envelopes []journal.Envelope
		for _, m := range s.boxes[to].inOrder(after) {
			envelopes = append(envelopes, m.Envelope)
		}
		return envelopes, nil
	})
}

// Messages implements journal.Store.
func (s *Store) Messages(
	ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
) (messages []journal.Message, more bool, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	room := limit.Room()
	for _, m := range s.boxes[to].inOrder(after) {
		if !room.Take(m.Bytes) {
			return messages, true, nil
		}
		m.Value = bytes.Clone(m.Value)
		messages = append(messages, m)
	}
	return messages, false, nil
}

// Message implements journal.Store.
func (s *Store) Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error) {
	return alone(ctx, s, func() (*journal.Message, error) {
		if b := s.boxes[to]; b != nil {
			if m, there := b.messages[position]; there {
				m.Value = bytes.Clone(m.Value)
				return &m, nil
			}
		}
		return nil, journal.ErrNotFound
	})
}

// FindMessage implements journal.Store.
func (s *Store) FindMessage(
	ctx context.Context, to journal.Receiver, origin journal.Origin,
) (*journal.FoundMessage, error) {
	return alone(ctx, s, func() (*journal.FoundMessage, error) {
		b := s.boxes[to]
		if b == nil {
			return nil, journal.ErrNotFound
		}
		for _, m := range b.messages {
			if m.Origin == origin {
				return &journal.FoundMessage{Envelope: m.Envelope}, nil
			}
		}
		for _, p := range b.parked {
			if p.message.Origin == origin {
				return &journal.FoundMessage{Envelope: p.message.Envelope, Parked: cloneError(p.Reason)}, nil
			}
		}
		return nil, journal.ErrNotFound
	})
}

// Receipt implements journal.Store.
func (s *Store) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	return find(ctx, s, s.receipts, receiptKey{id, origin}, cloneReceipt)
}

// Receivers implements journal.Store.
func (s *Store) Receivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return list(ctx, s, s.boxes, func(to journal.Receiver, b *box) (journal.ID, bool) {
		return to.ID, to.Chain.IsZero() && len(b.messages) > 0 && compareIDs(to.ID, after) > 0
	}, compareIDs, limit)
}

// MailReceivers implements journal.Store.
func (s *Store) MailReceivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return list(ctx, s, s.boxes, func(to journal.Receiver, b *box) (journal.ID, bool) {
		e := s.executions[to.ID]
		return to.ID, e != nil && e.row.Chain == to.Chain && compareIDs(to.ID, after) > 0 && b.hasMailFor(e.row.State)
	}, compareIDs, limit)
}

// dropLost drops messages sent to executions that may be gone.
func (b *box) dropLost() {
	for position, m := range b.messages {
		if m.Kind == journal.ResultMessage || m.Kind.Stops() {
			delete(b.messages, position)
			delete(b.origins, m.Origin)
			b.bytes -= m.Bytes
		}
	}
}

func (b *box) hasMailFor(state journal.State) bool {
	for _, m := range b.messages {
		if m.Kind == journal.ResultMessage && state == journal.Running || m.Kind.Stops() && !state.Final() {
			return true
		}
	}
	return false
}

func compareIDs(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) }

// SweepReceipts implements journal.Store.
func (s *Store) SweepReceipts(ctx context.Context, own []journal.Fence, before int64, limit int) (int, error) {
	return alone(ctx, s, func() (int, error) {
		if err := journal.Owned(own).Check(); err != nil {
			return 0, err
		}
		if limit <= 0 {
			return 0, nil
		}
		s.freeLocked(own)
		var expired []receiptKey
		for key, r := range s.receipts {
			if r.At < before && journal.Owned(own).Has(key.id.Shard()) && !s.heldLocked(r.From) {
				expired = append(expired, key)
			}
		}
		slices.SortFunc(expired, func(a, b receiptKey) int {
			return cmp.Or(
				compareTimes(s.receipts[a].At, s.receipts[b].At, a.id, b.id), bytes.Compare(a.origin[:], b.origin[:]),
			)
		})
		expired = expired[:min(len(expired), limit)]
		for n, key := range expired {
			if shard := key.id.Shard(); own[shard] != s.fences[shard] {
				return n, journal.ErrFenced
			}
			delete(s.receipts, key)
		}
		return len(expired), nil
	})
}

// liveLocked tells whether the run of a step is not over.
func (s *Store) liveLocked(step journal.Caller) bool {
	e, ok := s.executions[step.ID]
	return ok && e.row.Run == step.Run && !e.row.State.Final()
}
