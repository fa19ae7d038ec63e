package message

import "github.com/cruster/cruster/journal"

// Arrivals are messages that have just arrived for a run. A message is mostly waited for: a little
// of them is in hand for a moment, so that the store need not be asked. The [Inbox] has the
// envelopes of all others, and the store their payloads.
type Arrivals struct {
	limit, bytes int
	inHand       map[uint64]journal.Message // by position
}

// NewArrivals returns empty Arrivals with room for limit bytes.
func NewArrivals(limit int) Arrivals {
	return Arrivals{limit: limit, inHand: map[uint64]journal.Message{}}
}

// Add takes a message that is durable, unless there is too much in hand, or it comes without its value.
func (a *Arrivals) Add(m journal.Message) {
	if len(m.Value) == m.Bytes && a.bytes+m.Bytes <= a.limit {
		a.inHand[m.Position] = m
		a.bytes += m.Bytes
	}
}

// Find finds a message by its position.
func (a *Arrivals) Find(position uint64) (journal.Message, bool) {
	m, ok := a.inHand[position]
	return m, ok
}

// LetGo drops the messages in hand.
func (a *Arrivals) LetGo() {
	clear(a.inHand)
	a.bytes = 0
}
