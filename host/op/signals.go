package op

import (
	"cmp"
	"slices"

	"github.com/cruster/cruster/journal"
)

// Signals are the messages of an inbox that no op has been given yet, by name, in the
// order of their positions.
type Signals struct {
	byName map[string][]journal.Envelope
}

// NewSignals makes signals of an inbox.
func NewSignals(inbox []journal.Envelope) *Signals {
	s := &Signals{byName: map[string][]journal.Envelope{}}
	for _, e := range inbox {
		s.Add(e)
	}
	return s
}

// Add adds one that has arrived, or that an op gives back.
func (s *Signals) Add(e journal.Envelope) {
	of := s.byName[e.Name]
	at, _ := slices.BinarySearchFunc(of, e, func(a, b journal.Envelope) int { return cmp.Compare(a.Position, b.Position) })
	s.byName[e.Name] = slices.Insert(of, at, e)
}

// Take takes the first of a name.
func (s *Signals) Take(name string) (journal.Envelope, bool) {
	of := s.byName[name]
	if len(of) == 0 {
		return journal.Envelope{}, false
	}
	if len(of) == 1 {
		delete(s.byName, name)
	} else {
		s.byName[name] = of[1:]
	}
	return of[0], true
}
