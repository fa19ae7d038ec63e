package op

import (
	"cmp"
	"slices"

	"github.com/cruster/cruster/journal"
)

// Signals are the messages of an inbox that no op has been given yet, in the order of their
// positions: signals by name, and updates, whatever their names, in one queue.
type Signals struct {
	byQueue map[string][]journal.Envelope
}

// QueueOf names the queue that a message waits in, as ops that wait for it are named: an op
// that waits for updates has no name, and no signal has an empty one.
func QueueOf(e journal.Envelope) string {
	if e.Kind == journal.UpdateMessage {
		return ""
	}
	return e.Name
}

// NewSignals makes signals of an inbox.
func NewSignals(inbox []journal.Envelope) *Signals {
	s := &Signals{byQueue: map[string][]journal.Envelope{}}
	for _, e := range inbox {
		s.Add(e)
	}
	return s
}

// Add adds one that has arrived, or that an op gives back.
func (s *Signals) Add(e journal.Envelope) {
	queue := QueueOf(e)
	of := s.byQueue[queue]
	at, _ := slices.BinarySearchFunc(of, e, func(a, b journal.Envelope) int { return cmp.Compare(a.Position, b.Position) })
	s.byQueue[queue] = slices.Insert(of, at, e)
}

// Take takes the first of a queue.
func (s *Signals) Take(queue string) (journal.Envelope, bool) {
	of := s.byQueue[queue]
	if len(of) == 0 {
		return journal.Envelope{}, false
	}
	if len(of) == 1 {
		delete(s.byQueue, queue)
	} else {
		s.byQueue[queue] = of[1:]
	}
	return of[0], true
}
