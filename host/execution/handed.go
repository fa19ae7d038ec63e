package execution

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// # Signals that were delivered
//
// A signal that was delivered is in the guest, and the workflow may not have looked at it: no
// one waited for it when it came. The journal has it, for as long as the run lasts. So it stays
// in the inbox as well, held, until it is known that the workflow has looked at it:
//
//	accepted → delivered, and held → looked at: taken, with a receipt if it may be repeated
//
// Invariants:
//
//  1. A signal that was accepted is in the inbox until the workflow has looked at it. One that
//     it has not looked at when it continues as a new run is that run's, whatever its size.
//  2. An op that is to receive a signal and is open when a turn ends says that all signals of
//     its name that were delivered before it were looked at: a guest asks for the next when
//     it has looked at the one before. An outcome says it of all, except for those that a run
//     which continues names.
//  3. What is held is given to no op, in this run. A replay does without it: the journal has
//     what was delivered.
//
// Mostly a workflow looks at a signal and asks for another in the turn that it is delivered
// with: that turn takes it, and nothing is ever held.

// handed is what a turn says of signals that were delivered, in it or before.
type handed struct {
	taken []journal.Envelope // that were looked at
	held  []journal.Envelope // delivered in this turn, and perhaps not looked at
	left  []string           // names of all that were perhaps not looked at, sorted
}

// handedAfter decides about them, once the ledger has been told of the turn.
func (l *ledger) handedAfter(b batch, turn guest.Turn) (h handed) {
	delivered, unread := b.signalNames(), map[string]bool{}
	if turn.Continues() {
		for _, name := range turn.Outcome.Continue.Unread {
			unread[name] = true
		}
	}
	lookedAt := func(e journal.Envelope) bool {
		switch {
		case l.ops.Receives(e.Name):
			return true
		case turn.Continues():
			return !unread[e.Name]
		default:
			return turn.Outcome != nil
		}
	}
	for _, position := range slices.Sorted(maps.Keys(l.handed)) {
		if e := l.handed[position]; delivered[e.Name] || lookedAt(e) {
			h.taken = append(h.taken, e)
		} else {
			h.left = append(h.left, e.Name)
		}
	}
	for e := range b.signals {
		if lookedAt(e) {
			h.taken = append(h.taken, e)
		} else {
			h.held, h.left = append(h.held, e), append(h.left, e.Name)
		}
	}
	slices.Sort(h.left)
	h.left = slices.Compact(h.left)
	return h
}

// signals are those that the batch delivers.
func (b *batch) signals(yield func(journal.Envelope) bool) {
	for _, m := range b.messages {
		if m != nil && m.Kind == journal.SignalMessage && !yield(m.Envelope) {
			return
		}
	}
}

// signalNames are the names of those: ops were open for them.
func (b *batch) signalNames() map[string]bool {
	names := map[string]bool{}
	for e := range b.signals {
		names[e.Name] = true
	}
	return names
}

// writes tells whether there is anything to be made durable.
func (h *handed) writes() bool { return len(h.taken)+len(h.held) > 0 }

// write adds it to the write of the turn, which holds what the turn was delivered.
func (h *handed) write(w *journal.Write, now int64) {
	for _, e := range h.taken {
		takeMessage(w, e)
		if e.Repeatable {
			w.Receipts = append(w.Receipts, journal.Receipt{Origin: e.Origin, From: e.From, At: now})
		}
	}
}

// takeMessage has a write take a message, and not hold it.
func takeMessage(w *journal.Write, e journal.Envelope) {
	w.Hold = slices.DeleteFunc(w.Hold, func(held uint64) bool { return held == e.Position })
	w.Take = append(w.Take, e.Position)
}

// apply enters it into the ledger, once it is durable.
func (h *handed) apply(l *ledger) {
	for _, e := range h.held {
		l.handed[e.Position] = e
	}
	for _, e := range h.taken {
		delete(l.handed, e.Position)
	}
}
