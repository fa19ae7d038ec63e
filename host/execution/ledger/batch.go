package ledger

import "github.com/cruster/cruster/journal"

// Batch holds the deliveries of one turn to the guest.
type Batch struct {
	Entries []journal.Entry
	// Durable says that the entries are in the journal already, committed together with the SQL of their activity.
	Durable bool
	// Ready is when each outcome came to be.
	Ready []int64
	// Unread marks the entries whose outcome is in the store.
	Unread []bool
	// Messages are delivered by the entries; nil for other entries.
	Messages []*journal.Message
}

// InStore tells whether the store has the payload of an entry: a settlement, or a message that is
// still in the inbox, or its delivery in the journal.
func (b *Batch) InStore(i int) bool {
	return b.Unread != nil && b.Unread[i] || b.Messages != nil && b.Messages[i] != nil
}

// Empty drops the stored contents of the batch, so that they are read again.
func (b *Batch) Empty() {
	for i := range b.Entries {
		if !b.InStore(i) {
			continue
		}
		b.Entries[i].Value, b.Entries[i].Error = nil, nil
		if b.Messages != nil && b.Messages[i] != nil {
			b.Messages[i] = &journal.Message{Envelope: b.Messages[i].Envelope}
		}
	}
}

// WriteTo adds the deliveries of the batch to a write: entries, and the receipt of messages. Signals
// and updates stay in place until this turn or a later one acknowledges them.
func (b *Batch) WriteTo(w *journal.Write) {
	if b.Durable {
		return
	}
	w.Entries = append(w.Entries, b.Entries...)
	for _, m := range b.Messages {
		switch {
		case m == nil:
		case m.Kind == journal.ResultMessage:
			w.Take = append(w.Take, m.Position)
		default:
			w.Hold = append(w.Hold, m.Position)
		}
	}
}

// Delivered returns the signals and updates that the batch delivers, without payloads.
func (b *Batch) Delivered() (delivered []journal.Envelope) {
	for _, m := range b.Messages {
		if m != nil && m.Kind != journal.ResultMessage {
			delivered = append(delivered, m.Envelope)
		}
	}
	return delivered
}
