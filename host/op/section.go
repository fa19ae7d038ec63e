package op

import (
	"iter"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Section is the critical section that a run is in; the zero value if it is in none. It follows from the deliveries to
// a guest and the guest's ops, turn by turn: a replay of the turns comes to the same.
//
// Calls in a section are performed in it. So calls that were issued in it begin when the lock has been delivered, and
// an unlock ends it once they are answered: when the last answer is delivered, or the guest gives up on it. A lock that
// was not delivered by then is withdrawn at once, and the calls are not of a section.
type Section struct {
	// Step is the step of the op lock which began it, and Number the number of that op: all ops
	// behind it were issued in the section.
	Step   journal.StepID `msgpack:"step"`
	Number uint32         `msgpack:"number"`
	// Until is the number of the op unlock that ends it; 0 if there is none yet.
	Until uint32 `msgpack:"until,omitempty"`
}

// IsZero tells whether it is none.
func (s Section) IsZero() bool { return s.Step == journal.StepID{} }

// After is the section behind a turn that delivered entries, issued ops and cancelled some. Open are the ops that the
// guest waits for after it. A guest does not say in which order it issued and cancelled within a turn: cancellations of
// earlier turns' ops come first, and a lock that it cancels in the same turn was never issued. An unlock ends the
// section also if the guest does not wait for it.
func (s Section) After(delivered []journal.Entry, issued []*Op, cancelled []uint32, open iter.Seq[*Op]) Section {
	for i := range delivered {
		if !s.IsZero() && delivered[i].Error != nil && delivered[i].Op.Number == s.Number {
			s = Section{}
		}
	}
	if !s.IsZero() && slices.Contains(cancelled, s.Number) {
		s = Section{}
	}
	s = s.ended(open)
	for _, o := range issued {
		switch {
		case o.Kind == abi.OpUnlock && s.Until == 0:
			s.Until = o.Number
			s = s.ended(open)
		case o.Kind == abi.OpLock && s.IsZero() && !slices.Contains(cancelled, o.Number) && awaited(o, open) == nil:
			s = Section{Step: o.StepID, Number: o.Number}
		}
	}
	return s
}

// ended is none if it was unlocked and no call of it waits for its answer. All that it asks of
// open does not depend on their order.
func (s Section) ended(open iter.Seq[*Op]) Section {
	if s.IsZero() {
		return Section{}
	}
	if s.Until == 0 {
		return s
	}
	waits := false
	for o := range open {
		if o.Number == s.Number {
			return Section{} // the lock was not delivered
		}
		waits = waits || o.Kind == abi.OpEntityCall && s.has(o)
	}
	if waits {
		return s
	}
	return Section{}
}

// has tells whether an op was issued in the section.
func (s Section) has(o *Op) bool {
	return !s.IsZero() && o.Number > s.Number && (s.Until == 0 || o.Number < s.Until)
}

// Of is the section in which an op was issued, if it lasts.
func (s Section) Of(o *Op) journal.StepID {
	if !s.has(o) {
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
			return abi.Errorf(
				abi.CodeInSection,
				"workflow %q cannot be called in a critical section: it might wait for what the section has locked",
				o.Name,
			).
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
			return abi.Errorf(
				abi.CodeInSection,
				"a critical section cannot begin while %s %q waits for its answer: it might wait for what the section locks",
				before.Kind, before.Name,
			).
				WithHint("Await it first, or begin it in the section.")
		default:
			return abi.Errorf(
				abi.CodeInSection, "the critical section was ended before all of its entities were locked",
			)
		}
	}
	return nil
}

// awaited is an op before a lock that may wait for others as long as they like, and perhaps for the lock itself; nil if
// there is none.
func awaited(lock *Op, open iter.Seq[*Op]) (first *Op) {
	for o := range open {
		if (o.Kind == abi.OpCall || o.Kind == abi.OpEntityCall) && o.Number < lock.Number &&
			(first == nil || o.Number < first.Number) {
			first = o
		}
	}
	return first
}
