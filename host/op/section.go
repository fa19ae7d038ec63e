package op

import (
	"iter"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Section is the critical section that a run is in; the zero value if it is in none. It
// follows from what was delivered to a guest and what the guest did, turn by turn: a
// replay of the turns comes to the same.
type Section struct {
	// Step is that of the op lock which began it, and Number the number of that op: all ops
	// behind it were issued in the section.
	Step   journal.StepID `msgpack:"step"`
	Number uint32         `msgpack:"number"`
}

// IsZero tells whether it is none.
func (s Section) IsZero() bool { return s.Step == journal.StepID{} }

// After is the section behind a turn that delivered entries, issued ops and cancelled some.
// Open are the ops that the guest waits for after it. A guest does not say in which order it
// issued and cancelled within a turn: what it cancels of earlier turns comes first, and a lock
// that it cancels in the same turn was never issued. An unlock ends the section also if the
// guest does not wait for it.
func (s Section) After(delivered []journal.Entry, issued []*Op, cancelled []uint32, open iter.Seq[*Op]) Section {
	for i := range delivered {
		if !s.IsZero() && delivered[i].Error != nil && delivered[i].Op.Number == s.Number {
			s = Section{}
		}
	}
	if !s.IsZero() && slices.Contains(cancelled, s.Number) {
		s = Section{}
	}
	for _, o := range issued {
		switch {
		case o.Kind == abi.OpUnlock:
			s = Section{}
		case o.Kind == abi.OpLock && s.IsZero() && !slices.Contains(cancelled, o.Number) && awaited(o, open) == nil:
			s = Section{Step: o.StepID, Number: o.Number}
		}
	}
	return s
}

// Of is the section in which an op was issued, if it lasts.
func (s Section) Of(o *Op) journal.StepID {
	if s.IsZero() || o.Number <= s.Number {
		return journal.StepID{}
	}
	return s.Step
}

// Refuses says why an op that has no outcome will not be performed; nil if it will be.
func (s Section) Refuses(o *Op, open iter.Seq[*Op]) *abi.Error {
	inSection := s.Of(o) != journal.StepID{}
	switch o.Kind {
	case abi.OpCall:
		if inSection {
			return abi.Errorf(abi.CodeInSection, "workflow %q cannot be called in a critical section: it might wait for what the section has locked", o.Name).
				WithHint("Call it before or behind the section, or start it without waiting for it.")
		}
	case abi.OpLock:
		before := awaited(o, open)
		switch {
		case s.Step == o.StepID:
		case inSection:
			return abi.Errorf(abi.CodeInSection, "a critical section cannot begin within another").
				WithHint("Lock all entities together, or unlock first.")
		case before != nil:
			return abi.Errorf(abi.CodeInSection, "a critical section cannot begin while %s %q waits for its answer: it might wait for what the section locks",
				before.Kind, before.Name).
				WithHint("Await it first, or begin it in the section.")
		default:
			return abi.Errorf(abi.CodeInSection, "the critical section was ended before all of its entities were locked")
		}
	}
	return nil
}

// awaited is an op before a lock that may wait for others as long as they like, and perhaps
// for the lock itself; nil if there is none.
func awaited(lock *Op, open iter.Seq[*Op]) (first *Op) {
	for o := range open {
		if (o.Kind == abi.OpCall || o.Kind == abi.OpEntityCall) && o.Number < lock.Number && (first == nil || o.Number < first.Number) {
			first = o
		}
	}
	return first
}
