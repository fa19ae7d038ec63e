package ledger

import (
	"slices"

	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Open takes in the inbox as it is stored. It returns the requests to stop.
func (l *Ledger) Open(inbox []journal.Envelope) (stops []journal.Envelope) {
	var mail []journal.Envelope
	l.results, l.unwanted, l.awaited = nil, nil, nil
	for _, e := range inbox {
		switch e.Kind {
		case journal.ResultMessage:
			l.results = append(l.results, ResultOf(e))
		case journal.AwaitMessage:
			l.awaited = append(l.awaited, e)
		case journal.InterruptMessage, journal.TerminateMessage:
			stops = append(stops, e)
		default:
			mail = append(mail, e)
		}
	}
	l.inbox = message.NewInbox(mail)
	return stops
}

// Messages is how many messages are here, but for those that ops were given: these are paid for as ops are.
func (l *Ledger) Messages() int {
	return l.inbox.Len() + len(l.results) + len(l.unwanted) + len(l.awaited)
}

// ForgetMail forgets all messages, until the inbox is taken in again.
func (l *Ledger) ForgetMail() {
	l.inbox = message.NewInbox(nil)
	l.results, l.unwanted, l.awaited = nil, nil, nil
}

// Arrived takes in a message that is durable, and that no op has.
func (l *Ledger) Arrived(e journal.Envelope) {
	if e.Kind == journal.AwaitMessage {
		l.awaited = append(l.awaited, e)
		return
	}
	l.inbox.Add(e)
	l.ops.Arrived(message.QueueOf(e))
}

// dealAgain takes back a message from an op that was given up, for the next op that asks. Other ops may
// have been given later messages of its queue, and not been delivered: they are given theirs anew, so
// that the queue keeps its order.
func (l *Ledger) dealAgain(e journal.Envelope) {
	for _, later := range l.ops.TakeBack(message.QueueOf(e)) {
		l.inbox.Add(later)
	}
	l.Arrived(e)
}

// Awaited are the steps that wait for the run and have not started it.
func (l *Ledger) Awaited() []journal.Envelope { return l.awaited }

// AddAwaited adds a step that waits for the run, unless it is known.
func (l *Ledger) AddAwaited(e journal.Envelope) {
	if !slices.ContainsFunc(l.awaited, func(known journal.Envelope) bool { return known.Origin == e.Origin }) {
		l.awaited = append(l.awaited, e)
	}
}

// Unanswered are the updates without an answer.
func (l *Ledger) Unanswered() message.Updates { return l.inbox.Unanswered() }

// Asked finds the update of an id: in the inbox, or among the messages of a turn.
func (l *Ledger) Asked(id string, delivered []journal.Envelope) (journal.Envelope, bool) {
	return l.inbox.Asked(id, delivered)
}
