package execution

import "github.com/cruster/cruster/abi"

// phase is the place of a run in its life in memory.
//
//	absent ── unbegun ────── live
//	  │          │            │
//	  │          └ recovering ┘
//	  └ quarantined
//
// A run goes back to absent, and to quarantined, from every phase. When it continues as
// another run, it goes from live to continued, and from there to unbegun.
type phase int

const (
	absent      phase = iota // its row is not here: the store knows the run
	continued                // it has just taken the place of another run, and its journal is empty
	unbegun                  // its row is here, and its guest has had no turn
	recovering               // replayed; effects of its last turns may not be durable: see recover.go
	live                     // all effects of its turns are durable, or in the write that is pending
	quarantined              // a fault of the host stopped it, and its pause is not durable: see quarantine.go
)

// lifetime is the phase of a run. Its methods are all the transitions.
type lifetime struct {
	phase phase
	fault *abi.Error // why it is quarantined; else nil
}

// begun tells whether the guest has had its first turn, now or in the journal.
func (l *lifetime) begun() bool { return l.phase == recovering || l.phase == live }

// adopt has the row be here. A run that has just continued another one is unbegun once it is loaded.
func (l *lifetime) adopt() {
	if l.phase == absent {
		l.phase = unbegun
	}
}

// loaded ends the load of a run. It reports whether its journal is known to be empty.
func (l *lifetime) loaded() (empty bool) {
	empty = l.phase == continued
	if empty {
		l.phase = unbegun
	}
	return empty
}

// begin says that the guest has had its first turn, over no journal.
func (l *lifetime) begin() { l.phase = live }

// replayed says that the guest has had the turns of its journal.
func (l *lifetime) replayed() { l.phase = recovering }

// recovered says that all effects of its turns are durable.
func (l *lifetime) recovered() {
	if l.phase == recovering {
		l.phase = live
	}
}

// startOver says that the first turn did not survive: it is taken again.
func (l *lifetime) startOver() {
	if l.begun() {
		l.phase = unbegun
	}
}

// unload has the row be in the store alone. A run that was not loaded since it continued another
// one is still that.
func (l *lifetime) unload() {
	if l.phase != continued && l.phase != quarantined {
		l.phase = absent
	}
}

// beginAnew says that another run of the same name takes its place.
func (l *lifetime) beginAnew() {
	if l.phase == continued {
		l.phase = absent
	}
}

// continueAs says that the run has taken the place of another one.
func (l *lifetime) continueAs() { l.phase = continued }

// quarantine stops the run because of a fault.
func (l *lifetime) quarantine(fault *abi.Error) { l.phase, l.fault = quarantined, fault }

// release ends a quarantine.
func (l *lifetime) release() { l.phase, l.fault = absent, nil }
