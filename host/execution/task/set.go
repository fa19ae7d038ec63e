package task

import (
	"context"
	"iter"
	"maps"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Set is the work of the host for the pending ops of a run. It survives a reload.
type Set struct {
	performer   *Performer
	id          journal.ID
	ledger      *sharedledger.Ledger
	undelivered undelivered
	all         map[journal.StepID]*task
	attempts    map[journal.StepID]*task // those that are activities
}

// NewSet returns the tasks of a run that has none yet.
func (p *Performer) NewSet(id journal.ID, l *sharedledger.Ledger) *Set {
	return &Set{
		performer: p, id: id, ledger: l, undelivered: undelivered{all: &p.outcomes},
		all: map[journal.StepID]*task{}, attempts: map[journal.StepID]*task{},
	}
}

// Run is the state of a run that its tasks go by.
type Run struct {
	Row *journal.Execution
	// RowWrites counts the writes of the row.
	RowWrites uint64
	// Left is closed when the run wants to leave memory.
	Left <-chan struct{}
}

// StartAll sets the host to work for every pending op that needs it and has no task yet. It is
// called only when all deliveries before their issue are durable. Sleeps, deferreds and interrupts
// need no task: see [op.Set.CompleteDue].
func (s *Set) StartAll(r Run) {
	if s.performer.Host.Draining() {
		return
	}
	for _, o := range sharedledger.Look(s.ledger, (*ledger.Ledger).TakeUnbegun) {
		if s.all[o.StepID] == nil { // a task begun before a reload goes on
			s.start(r, o)
		}
	}
}

// start sets the host to work for an op.
func (s *Set) start(r Run, o *op.Op) {
	ctx, cancel := context.WithCancel(s.performer.Host.Context())
	row, body, failed := *r.Row, o.Body, o.Attempts
	s.ledger.With(func(l *ledger.Ledger) { row.Section = l.SectionOf(o) })
	t := &task{
		performer: s.performer, id: s.id, row: &row, op: o.Op, step: o.StepID, rowWrites: r.RowWrites, cancel: cancel,
		inHand: &s.undelivered, ledger: s.ledger, left: r.Left,
	}
	s.all[o.StepID] = t
	announced, suspect := s.performer.Announced(o), s.performer.suspect(o)
	if o.Kind == abi.OpActivity {
		s.attempts[o.StepID] = t
	}
	perform := func() {
		switch b := body.(type) {
		case *abi.Activity:
			t.inTurn(ctx, suspect, func() { t.runActivity(ctx, b, failed, announced) })
		case *abi.Call:
			t.call(ctx, b)
		case *abi.Resolve:
			t.resolve(ctx, b)
		case *abi.Poll:
			t.poll(ctx, b)
		case *abi.Interrupt:
			t.interrupt(ctx, b)
		case *abi.Signal:
			t.signal(ctx, b)
		case *abi.EntityMessage:
			t.askEntity(ctx, b)
		case *abi.Lock:
			t.lock(ctx, b)
		}
	}
	end := func() {}
	if o.Kind == abi.OpCall {
		end = s.performer.starting.begin(journal.Caller{ID: row.ID, Run: row.Run, Step: o.StepID})
	}
	work := func() {
		defer end()
		if f := hostfault.Guard(perform); f != nil {
			t.post(Fault{t.step, t.reserved, f})
		}
	}
	joined := false
	switch {
	case o.Kind == abi.OpActivity && !suspect:
		joined = s.performer.performing.Go(s.id, work)
	case o.Kind == abi.OpPoll:
		joined = s.performer.reading.Go(s.id, work)
	default:
		joined = s.performer.Group.Go(work)
	}
	if !joined {
		end()
		s.End(o.StepID)
	}
}

// End ends the work for an op: it is done, or its outcome is not waited for any more.
func (s *Set) End(step journal.StepID) {
	if t := s.all[step]; t != nil {
		t.cancel()
		s.read(t)
		delete(s.all, step)
		delete(s.attempts, step)
		s.ledger.With(func(l *ledger.Ledger) { l.Ops().GiveBack(step) })
	}
}

// EndForgotten ends the work for ops that the guest does not wait for: it gave up on them in a turn whose commit was in
// doubt, or in code that it was moved to.
func (s *Set) EndForgotten() {
	var forgotten []journal.StepID
	s.ledger.With(func(l *ledger.Ledger) {
		for step := range s.all {
			if l.Ops().Step(step) == nil {
				forgotten = append(forgotten, step)
			}
		}
	})
	for _, step := range forgotten {
		s.End(step)
	}
}

// EndAll ends all work.
func (s *Set) EndAll() {
	for step := range s.all {
		s.End(step)
	}
}

// WaitForEntities tells whether there are tasks, and all of them wait for entities.
func (s *Set) WaitForEntities() bool {
	waits := len(s.all) > 0
	s.ledger.With(func(l *ledger.Ledger) {
		for step := range s.all {
			o := l.Ops().Step(step)
			waits = waits && o != nil && (o.Kind == abi.OpEntityCall || o.Kind == abi.OpLock)
		}
	})
	return waits
}

// BegunAttempts are the ops of attempts that have begun, and have no outcome.
func (s *Set) BegunAttempts() (ops []*op.Op) {
	for step, t := range s.attempts {
		o := sharedledger.Look(s.ledger, func(l *ledger.Ledger) *op.Op { return l.Ops().Step(step) })
		if t.begun.Load() && o != nil && !o.Settled() {
			ops = append(ops, o)
		}
	}
	return ops
}

// ResolveReserved takes in what became of a transaction before the journal of the run is loaded: the entry of a
// committed one is in it. It reports whether nothing of the report is left to be received.
func (s *Set) ResolveReserved(r Report) bool {
	void := func(seq uint64) { s.ledger.With(func(l *ledger.Ledger) { l.Void(seq) }) }
	switch r := r.(type) {
	case Committed:
		void(r.Entry.Seq)
		s.End(r.Entry.Op.Step())
		return true
	case Void:
		void(r.Seq)
		return true
	case Fault:
		void(r.Seq)
	}
	return false
}

// Len counts the tasks.
func (s *Set) Len() int { return len(s.all) }

// Steps are the steps that have a task.
func (s *Set) Steps() iter.Seq[journal.StepID] { return maps.Keys(s.all) }

// Forget says that the run leaves memory, and has nothing to deliver.
func (s *Set) Forget() { s.undelivered.setKnown(0) }

// read says that the run has ended the task.
func (s *Set) read(t *task) {
	if bytes := t.unread.Swap(-1); bytes > 0 {
		s.undelivered.known.Add(bytes)
		s.undelivered.unread.Add(-bytes)
	}
}

// Pace lets attempts of the activities and reads begin, unless there is too much in hand. Carried is
// how many bytes are kept during a reload.
func (s *Set) Pace(carried int64) {
	known := carried
	s.ledger.With(func(l *ledger.Ledger) { known += l.UndeliveredBytes() })
	s.undelivered.setKnown(known)
	if !s.undelivered.tooMuch() {
		s.performer.resume(s.id)
	}
	if s.undelivered.tooMuch() { // also if a task has ended in between, and its hold was ended
		s.performer.hold(s.id)
	}
}

// UndeliveredBytes are the bytes of outcomes that the run has not delivered yet.
func (s *Set) UndeliveredBytes() int64 { return s.undelivered.bytes() }
