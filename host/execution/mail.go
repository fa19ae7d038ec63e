package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// mail is the part of its inbox that a run knows, besides the messages in the ledger.
type mail struct {
	deferreds settlements
	received  message.Arrivals                   // with their values
	results   map[journal.Origin]journal.Message // in the inbox, and not in the ledger
	due       bool                               // there may be more in the inbox
	reading   uint64                             // the last reading of the inbox: see [request.InboxLocks]
	heeded    map[uint64]bool                    // the positions of all requests to stop that the run has obeyed
	asked     []uint64                           // those that no write has acknowledged yet
	undecided []journal.Sent                     // messages of commits whose answer was lost
	unheard   bool                               // such a commit may have ended the run, and no one was told
}

func newMail() mail {
	return mail{
		deferreds: newSettlements(), received: message.NewArrivals(largevalue.MaxInHand),
		results: map[journal.Origin]journal.Message{}, heeded: map[uint64]bool{},
	}
}

// load takes over the records of the run.
func (m *mail) load(found *records) {
	m.reading = found.reading
	m.deferreds.set(found.row.Settlements(), found.settled)
	m.received.LetGo()
	m.wasRead()
}

// beginAnew forgets the settlements of another run.
func (m *mail) beginAnew(inbox journal.Receiver) {
	m.deferreds.set(inbox, nil)
	m.received.LetGo()
}

// forget forgets the settlements of the run, until it is loaded.
func (m *mail) forget() { m.deferreds.set(m.deferreds.inbox, nil) }

// letGo drops the values in hand.
func (m *mail) letGo() {
	m.deferreds.letGo()
	m.received.LetGo()
}

// isDue tells whether there may be mail in the inbox that the run does not know.
func (m *mail) isDue() bool { return len(m.results) > 0 || m.due }

// wasRead says that the run knows its inbox.
func (m *mail) wasRead() {
	clear(m.results)
	m.due = false
}

// tellResult takes the notice of a result of a callee, which is in the inbox.
func (m *mail) tellResult(l *ledger.Ledger, result journal.Message) {
	if !l.KnowsResult(result.Envelope) {
		m.results[result.Origin] = result
	}
}

// readResult takes in a result that was found in the inbox.
func (m *mail) readResult(l *ledger.Ledger, e journal.Envelope) {
	if !l.KnowsResult(e) {
		l.AddResult(ledger.ResultOf(e))
	}
	if told, is := m.results[e.Origin]; is && len(told.Value) == told.Bytes {
		told.Position = e.Position
		m.received.Add(told)
	}
}

// covers tells whether the run has read its inbox since a message was put there.
func (m *mail) covers(arrived messageArrived) bool { return arrived.reading < m.reading }

// heed notes a request to stop that the run obeys.
func (m *mail) heed(position uint64) {
	m.heeded[position] = true
	m.asked = append(m.asked, position)
}

// acknowledged notes that a write is durable.
func (m *mail) acknowledged(w *journal.Write) {
	if w.Update != nil && w.Update.Interrupt != nil {
		m.asked = slices.DeleteFunc(m.asked, func(position uint64) bool { return slices.Contains(w.Take, position) })
	}
}

// forgetUndecided forgets the messages of commits whose answer was lost, once their receivers are told.
// The requests to stop are in the inbox still, or were obeyed.
func (m *mail) forgetUndecided() { m.undecided, m.asked = nil, nil }

// fill reads the stored contents of a batch from an inbox.
func (m *mail) fill(ctx context.Context, store Store, inbox journal.Receiver, b *ledger.Batch) error {
	if err := m.fillMessages(ctx, store, inbox, b); err != nil {
		return err
	}
	return m.deferreds.fill(ctx, store, b)
}

// fillMessages puts the payloads of its messages into a batch.
func (m *mail) fillMessages(ctx context.Context, store Store, inbox journal.Receiver, b *ledger.Batch) error {
	for i, of := range b.Messages {
		if of == nil {
			continue
		}
		whole, ok := m.received.Find(of.Position)
		if !ok {
			read, err := store.Message(ctx, inbox, of.Position)
			if err != nil {
				return err
			}
			whole = *read
		}
		b.Messages[i] = &whole
		if err := deliverInto(&b.Entries[i], &whole); err != nil {
			return err
		}
	}
	return nil
}

// unreadBytes is how many bytes of a batch are in the store alone.
func (m *mail) unreadBytes(b *ledger.Batch) (bytes int64) {
	for i := range b.Entries {
		if of := b.Messages; of != nil && of[i] != nil {
			if _, inHand := m.received.Find(of[i].Position); !inHand {
				bytes += int64(of[i].Bytes)
			}
			continue
		}
		if name := b.Entries[i].Op.Name; b.Unread[i] && b.Entries[i].Op.Kind == abi.OpDeferred {
			if _, inHand := m.deferreds.inHand[name]; !inHand {
				bytes += int64(m.deferreds.settled[name].Bytes)
			}
		}
	}
	return bytes
}

// deliverInto puts the payload of a message into an entry.
func deliverInto(en *journal.Entry, m *journal.Message) error {
	if m.Kind != journal.ResultMessage {
		en.Value = message.Delivery(*m)
		return nil
	}
	var outcome abi.Outcome
	if err := abi.Unmarshal(m.Value, &outcome); err != nil {
		return fmt.Errorf("%w: the result of %s does not decode: %w", journal.ErrCorrupt, m.From.ID, err)
	}
	en.Value, en.Error = outcome.Value, outcome.Error
	return nil
}

// records are the records of an execution except its journal.
type records struct {
	row     *journal.Execution
	settled []journal.Settlement
	inbox   []journal.Envelope
	reading uint64 // of the inbox
}
