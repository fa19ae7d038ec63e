package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// taskSet is the work of the host for the pending ops of a run. It survives a reload.
type taskSet struct {
	execs       *Executions
	id          journal.ID
	ledger      *sharedLedger
	undelivered undelivered
	all         map[journal.StepID]*task
	attempts    map[journal.StepID]*task // those that are activities
}

func newTaskSet(x *Executions, id journal.ID, l *sharedLedger) taskSet {
	return taskSet{
		execs: x, id: id, ledger: l, undelivered: undelivered{all: &x.outcomes},
		all: map[journal.StepID]*task{}, attempts: map[journal.StepID]*task{},
	}
}

// workOf is the state of a run that its tasks go by.
type workOf struct {
	row       *journal.Execution
	rowWrites uint64
	left      <-chan struct{}
}

// startAll sets the host to work for every pending op that needs it and has no task yet. It is
// called only when all deliveries before their issue are durable. Sleeps, deferreds and interrupts
// need no task: see [op.Set.CompleteDue].
func (s *taskSet) startAll(w workOf) {
	if s.execs.Host.Draining() {
		return
	}
	for _, o := range look(s.ledger, (*ledger.Ledger).TakeUnbegun) {
		if s.all[o.StepID] == nil { // a task begun before a reload goes on
			s.start(w, o)
		}
	}
}

// start sets the host to work for an op.
func (s *taskSet) start(w workOf, o *op.Op) {
	ctx, cancel := context.WithCancel(s.execs.Host.Context())
	row, body, failed := *w.row, o.Body, o.Attempts
	s.ledger.with(func(l *ledger.Ledger) { row.Section = l.SectionOf(o) })
	t := &task{
		execs: s.execs, id: s.id, row: &row, op: o.Op, step: o.StepID, rowWrites: w.rowWrites, cancel: cancel,
		inHand: &s.undelivered, ledger: s.ledger, left: w.left,
	}
	s.all[o.StepID] = t
	announced, suspect := s.execs.announced(o), s.execs.suspect(o)
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
		end = s.execs.starts.begin(journal.Caller{ID: row.ID, Run: row.Run, Step: o.StepID})
	}
	work := func() {
		defer end()
		if f := guarded(perform); f != nil {
			t.post(taskFault{t.step, t.reserved, f})
		}
	}
	joined := false
	switch {
	case o.Kind == abi.OpActivity && !suspect:
		joined = s.execs.performing.Go(s.id, work)
	case o.Kind == abi.OpPoll:
		joined = s.execs.reading.Go(s.id, work)
	default:
		joined = s.execs.group.Go(work)
	}
	if !joined {
		end()
		s.end(o.StepID)
	}
}

// end ends the work for an op: it is done, or its outcome is not waited for any more.
func (s *taskSet) end(step journal.StepID) {
	if t := s.all[step]; t != nil {
		t.cancel()
		s.read(t)
		delete(s.all, step)
		delete(s.attempts, step)
		s.ledger.with(func(l *ledger.Ledger) { l.Ops().GiveBack(step) })
	}
}

// endForgotten ends the work for ops that the guest does not wait for: it gave up on them in a turn whose commit was in
// doubt, or in code that it was moved to.
func (s *taskSet) endForgotten() {
	var forgotten []journal.StepID
	s.ledger.with(func(l *ledger.Ledger) {
		for step := range s.all {
			if l.Ops().Step(step) == nil {
				forgotten = append(forgotten, step)
			}
		}
	})
	for _, step := range forgotten {
		s.end(step)
	}
}

// endAll ends all work.
func (s *taskSet) endAll() {
	for step := range s.all {
		s.end(step)
	}
}

// waitForEntities tells whether there are tasks, and all of them wait for entities.
func (s *taskSet) waitForEntities() bool {
	waits := len(s.all) > 0
	s.ledger.with(func(l *ledger.Ledger) {
		for step := range s.all {
			o := l.Ops().Step(step)
			waits = waits && o != nil && (o.Kind == abi.OpEntityCall || o.Kind == abi.OpLock)
		}
	})
	return waits
}

// begunAttempts are the ops of attempts that have begun, and have no outcome.
func (s *taskSet) begunAttempts() (ops []*op.Op) {
	for step, t := range s.attempts {
		o := look(s.ledger, func(l *ledger.Ledger) *op.Op { return l.Ops().Step(step) })
		if t.begun.Load() && o != nil && !o.Settled() {
			ops = append(ops, o)
		}
	}
	return ops
}

// resolveReserved takes in the outcomes of transactions of a run before its journal is loaded:
// committed transactions are in it. It returns the notices that are left.
func (s *taskSet) resolveReserved(run journal.RunID, notices []notice) (rest []notice) {
	void := func(seq uint64) { s.ledger.with(func(l *ledger.Ledger) { l.Void(seq) }) }
	for _, m := range notices {
		of, is := m.(ofRun)
		if !is || of.run != run {
			rest = append(rest, m)
			continue
		}
		switch told := of.notice.(type) {
		case txCommitted:
			void(told.entry.Seq)
			s.end(told.entry.Op.Step())
		case txVoid:
			void(told.seq)
		case taskFault:
			void(told.seq)
			rest = append(rest, m)
		default:
			rest = append(rest, m)
		}
	}
	return rest
}
