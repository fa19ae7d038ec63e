package message

import (
	"cmp"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Inbox tracks the unfinished messages that were sent to a run. It has their envelopes: their
// payloads are in the store, and may be large.
//
// A message in it waits for an op, or it was delivered and is held. In between it is with the op
// that was given it, and not here; an op that the guest gives up gives it back ([Inbox.Add]).
type Inbox struct {
	// waiting are the messages given to no op yet, by queue and in the order of their positions.
	waiting map[string][]journal.Envelope
	// held are signals that were delivered, and perhaps not looked at; by position.
	held map[uint64]journal.Envelope
	// unanswered are updates that were delivered.
	unanswered Updates
}

// NewInbox returns an inbox of the stored messages.
func NewInbox(stored []journal.Envelope) *Inbox {
	i := &Inbox{waiting: map[string][]journal.Envelope{}, held: map[uint64]journal.Envelope{}, unanswered: Updates{}}
	for _, e := range stored {
		switch {
		case !e.Held:
			i.Add(e)
		case e.Kind == journal.UpdateMessage:
			i.unanswered[UpdateID(e.Origin)] = e
		default:
			i.held[e.Position] = e
		}
	}
	return i
}

// Len is how many messages are in it.
func (i *Inbox) Len() int {
	n := len(i.held) + len(i.unanswered)
	for _, of := range i.waiting {
		n += len(of)
	}
	return n
}

// QueueOf names the queue that a message waits in, as ops that wait for it are named: signals by
// name, and updates, whatever their names, in one queue. An op that waits for updates has no name,
// and no signal has an empty one.
func QueueOf(e journal.Envelope) string {
	if e.Kind == journal.UpdateMessage {
		return ""
	}
	return e.Name
}

// Add adds a message that has arrived, or that an op gives back.
func (i *Inbox) Add(e journal.Envelope) {
	queue := QueueOf(e)
	of := i.waiting[queue]
	at, _ := slices.BinarySearchFunc(of, e, func(a, b journal.Envelope) int {
		return cmp.Compare(a.Position, b.Position)
	})
	i.waiting[queue] = slices.Insert(of, at, e)
}

// Take takes the first of a queue, for an op.
func (i *Inbox) Take(queue string) (journal.Envelope, bool) {
	of := i.waiting[queue]
	if len(of) == 0 {
		return journal.Envelope{}, false
	}
	if len(of) == 1 {
		delete(i.waiting, queue)
	} else {
		i.waiting[queue] = of[1:]
	}
	return of[0], true
}

// Unanswered are the updates that were delivered and have no answer.
func (i *Inbox) Unanswered() Updates { return i.unanswered }

// Asked finds the update that a guest answers by how it knows it: an update delivered to its turn,
// or an earlier unanswered one.
func (i *Inbox) Asked(id string, delivered []journal.Envelope) (journal.Envelope, bool) {
	for _, e := range delivered {
		if e.Kind == journal.UpdateMessage && UpdateID(e.Origin) == id {
			return e, true
		}
	}
	e, there := i.unanswered[id]
	return e, there
}

// Delivery returns the payload of a message for the op that waits for it.
func Delivery(m journal.Message) []byte {
	if m.Kind == journal.UpdateMessage {
		return abi.MustMarshal(&abi.UpdateRequest{ID: UpdateID(m.Origin), Input: m.Value, Name: m.Name})
	}
	return m.Value
}

// Full says that an execution takes no more messages.
func Full(name string) error {
	return abi.Errorf(
		abi.CodeInboxFull, "%s has %d messages, or %d MiB of them, that it has not received or answered yet", name,
		journal.MaxInbox, journal.MaxInboxBytes>>20,
	)
}
