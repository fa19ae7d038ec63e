package message

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/journal"
)

// Turn is the part of a guest's turn that concerns messages.
type Turn struct {
	// Delivered are the messages delivered to it, in order. An op was open for each.
	Delivered []journal.Envelope
	// Over says that the workflow has an outcome.
	Over bool
	// Unread are the names of signals that a workflow has not looked at when it continues as a new run.
	Unread []string
	// Answers are its answers to updates.
	Answers Answers
}

// Fate is the outcome of messages delivered in a turn or before.
type Fate struct {
	// Unread are the names of all signals that were perhaps not looked at, sorted.
	Unread []string

	taken   []journal.Envelope // signals that were looked at
	held    []journal.Envelope // signals delivered in this turn, and perhaps not looked at
	asked   []journal.Envelope // updates delivered in this turn
	answers Answers
}

// After decides about them. Awaits tells whether an op is open when the turn ends that is to
// receive signals of a name. Nothing is changed: the turn is not durable yet.
func (i *Inbox) After(t Turn, awaits func(name string) bool) Fate {
	f := Fate{answers: t.Answers}
	if len(i.held)+len(t.Delivered) == 0 {
		return f
	}
	delivered, unread := map[string]bool{}, map[string]bool{}
	for _, name := range t.Unread {
		unread[name] = true
	}
	for _, e := range t.Delivered {
		if e.Kind == journal.SignalMessage {
			delivered[e.Name] = true
		}
	}
	lookedAt := func(e journal.Envelope) bool { return awaits(e.Name) || t.Over && !unread[e.Name] }
	for _, position := range slices.Sorted(maps.Keys(i.held)) {
		if e := i.held[position]; delivered[e.Name] || lookedAt(e) {
			f.taken = append(f.taken, e)
		} else {
			f.Unread = append(f.Unread, e.Name)
		}
	}
	for _, e := range t.Delivered {
		switch {
		case e.Kind == journal.UpdateMessage:
			f.asked = append(f.asked, e)
		case lookedAt(e):
			f.taken = append(f.taken, e)
		default:
			f.held, f.Unread = append(f.held, e), append(f.Unread, e.Name)
		}
	}
	slices.Sort(f.Unread)
	f.Unread = slices.Compact(f.Unread)
	return f
}

// Writes tells whether signals have anything to be made durable.
func (f *Fate) Writes() bool { return len(f.taken)+len(f.held) > 0 }

// Write adds the fate of signals to the write of the turn, which holds all deliveries of the turn.
// The fate of updates is in their answers: see [Answers.Write].
func (f *Fate) Write(w *journal.Write, now int64) {
	for _, e := range f.taken {
		take(w, e)
		if e.Repeatable {
			w.Receipts = append(w.Receipts, journal.Receipt{Origin: e.Origin, From: e.From, At: now})
		}
	}
}

// take has a write take a message, and not hold it.
func take(w *journal.Write, e journal.Envelope) {
	w.Hold = slices.DeleteFunc(w.Hold, func(held uint64) bool { return held == e.Position })
	w.Take = append(w.Take, e.Position)
}

// Apply enters the fate of messages, once it is durable.
func (i *Inbox) Apply(f Fate) {
	for _, e := range f.held {
		i.held[e.Position] = e
	}
	for _, e := range f.taken {
		delete(i.held, e.Position)
	}
	for _, e := range f.asked {
		i.unanswered[UpdateID(e.Origin)] = e
	}
	for _, a := range f.answers {
		delete(i.unanswered, UpdateID(a.Update.Origin))
	}
}
