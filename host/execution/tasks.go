package execution

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// startTasks sets the host to work for every pending op that needs it and has no task yet. It is
// called only when all deliveries before their issue are durable. Sleeps, deferreds and interrupts
// need no task: see [op.Set.CompleteDue].
func (r *run) startTasks() {
	if r.execs.Host.Draining() {
		return
	}
	var unbegun []*op.Op
	r.locked(func(l *ledger) {
		unbegun = slices.DeleteFunc(l.ops.TakeUnbegun(), func(o *op.Op) bool {
			waits := l.waitsForLock(o)
			if waits {
				l.ops.GiveBack(o.StepID)
			}
			return waits
		})
	})
	for _, o := range unbegun {
		if r.tasks[o.StepID] == nil { // a task begun before a reload goes on
			r.startTask(o)
		}
	}
}

// task is one op being performed, on a goroutine of its own. It has copies: op and
// row belong to the run.
type task struct {
	execs *Executions
	id    journal.ID
	row   *journal.Execution
	op    journal.Op
	step  journal.StepID
	// reserved is the sequence number of a transaction that is under way; 0 if there is
	// none.
	reserved uint64
	cancel   context.CancelFunc
	inHand   *undelivered // of the run
	begun    atomic.Bool  // it has begun an attempt of an activity
	unread   atomic.Int64 // bytes that it has come to: see undelivered.go
	// rowWrites is the run's when the task began.
	rowWrites uint64
	left      <-chan struct{} // of the run
	hasLeft   bool            // its op awaits an answer
}

func (r *run) startTask(o *op.Op) {
	ctx, cancel := context.WithCancel(r.execs.Host.Context())
	row, body, failed := *r.row, o.Body, o.Attempts
	r.locked(func(l *ledger) { row.Section = l.section.Of(o) })
	t := &task{execs: r.execs, id: r.id, row: &row, op: o.Op, step: o.StepID, rowWrites: r.rowWrites, cancel: cancel, inHand: &r.undelivered, left: r.left}
	r.tasks[o.StepID] = t
	announced, suspect := r.execs.announced(o), r.execs.suspect(o)
	if o.Kind == abi.OpActivity {
		r.attempts[o.StepID] = t
	}
	perform := func() {
		switch b := body.(type) {
		case *abi.Activity:
			t.inTurn(ctx, suspect, func() { t.runActivity(ctx, r, b, failed, announced) })
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
		end = r.execs.starts.begin(journal.Caller{ID: row.ID, Run: row.Run, Step: o.StepID})
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
		joined = r.execs.performing.Go(r.id, work)
	case o.Kind == abi.OpPoll:
		joined = r.execs.reading.Go(r.id, work)
	default:
		joined = r.execs.group.Go(work)
	}
	if !joined {
		end()
		r.endTask(o.StepID)
	}
}

// endTask ends the work for an op: it is done, or its outcome is not waited for any
// more.
func (r *run) endTask(step journal.StepID) {
	if t := r.tasks[step]; t != nil {
		t.cancel()
		r.read(t)
		delete(r.tasks, step)
		delete(r.attempts, step)
		r.locked(func(l *ledger) { l.ops.GiveBack(step) })
	}
}

// endForgottenTasks ends the work for ops that the guest does not wait for: it gave
// up on them in a turn whose commit was in doubt, or in code that it was moved to.
func (r *run) endForgottenTasks() {
	var forgotten []journal.StepID
	r.locked(func(l *ledger) {
		for step := range r.tasks {
			if l.ops.Step(step) == nil {
				forgotten = append(forgotten, step)
			}
		}
	})
	for _, step := range forgotten {
		r.endTask(step)
	}
}

// stopTasks ends all work: the execution needs none any more.
func (r *run) stopTasks() {
	for step := range r.tasks {
		r.endTask(step)
	}
	r.carried.clear()
	r.releaseOps()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.forgetOps()
}

// post tells the run of the task something. If another run has its name by then it
// does not get it.
func (t *task) post(m notice) { t.execs.runs.Post(t.id, ofRun{t.row.Run, m}) }

// done posts the outcome of the op to its run.
func (t *task) done(outcome abi.Outcome) { t.doneAt(outcome, t.execs.now()) }

// doneAt posts an outcome that came to be at a time.
func (t *task) doneAt(outcome abi.Outcome, at int64) {
	t.post(opDone{step: t.step, outcome: outcome, at: at})
}

// runActivity runs an attempt and posts its outcome.
func (t *task) runActivity(ctx context.Context, r *run, body *abi.Activity, failed uint32, announced bool) {
	report := t.execs.Activities.Perform(ctx, activity.Task{
		Row: t.row, Op: t.op, Body: body, Failed: failed,
		Begin: func(ctx context.Context) bool { return t.begin(ctx, announced) },
		Reserve: func(ctx context.Context, value []byte, attempts uint32) (journal.Entry, bool) {
			entry, wanted := r.reserve(ctx, t.step, value, attempts)
			t.reserved = entry.Seq
			return entry, wanted
		},
		Deliver: t.deliverAhead,
		Void: func(seq uint64) {
			t.reserved = 0
			t.post(txVoid{seq})
		},
	})
	t.ended(report)
	switch report := report.(type) {
	case activity.Done:
		t.post(opDone{step: t.step, attempts: report.Attempts, outcome: report.Outcome, at: t.execs.now()})
	case activity.Failed:
		t.post(attemptFailed{step: t.step, err: report.Err})
	case activity.Committed:
		if !report.Delivered {
			t.post(txCommitted{entry: report.Entry})
		}
	case activity.Dropped:
		t.post(opDropped{step: t.step})
	case activity.Stuck:
		t.post(opStuck{step: t.step, err: report.Err})
	}
}

// reserve gives an activity's transaction its place in the journal. It reports false if the op is
// no longer waited for, or if ctx, its task's context, has ended: then another task may be at work
// for the same op.
func (r *run) reserve(ctx context.Context, step journal.StepID, value []byte, attempts uint32) (journal.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return journal.Entry{}, false
	}
	return r.ledger.reserve(step, value, attempts, r.execs.now())
}

// resolve settles a deferred for a workflow. The answer is true if this settled it,
// false if it was settled before. After a crash it is asked again and must say the
// same, so the settlement bears an origin that is this step's alone and by which it
// is known again.
func (t *task) resolve(ctx context.Context, b *abi.Resolve) {
	name := b.Execution
	if name == "" {
		name = t.row.Name()
	}
	settled := true
	failure, decided := t.execs.retryUntilDecided(ctx, "resolve a deferred", func() error {
		ref, err := RefOf(t.row.Namespace, name)
		if err != nil {
			return err
		}
		err = t.execs.Settle(ctx, ref, journal.Deferred{Name: b.Name, Value: b.Value, Error: b.Error, Origin: journal.OriginOf(t.row.Run, t.step)})
		if errors.Is(err, &abi.Error{Code: abi.CodeDeferredSettled}) {
			settled, err = false, nil
		}
		return err
	})
	if decided {
		t.done(outcomeOf(abi.MustMarshal(settled), failure))
	}
}

// signal sends a signal for a workflow. It is named by this step alone, so that a resend after a
// crash is recognized. A full inbox is waited for, unless it is the workflow's own: no one else
// makes room there.
func (t *task) signal(ctx context.Context, b *abi.Signal) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	var full *abi.Error
	failure, decided := t.execs.retryUntilDecided(ctx, "send a signal", func() error {
		ref, err := RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		err = t.execs.Signal(ctx, ref, message.Signal{Name: b.Name, Value: b.Value, Origin: journal.OriginOf(step.Run, step.Step), From: step})
		if ref.ID == t.row.ID && abi.CodeOf(err) == abi.CodeInboxFull {
			full, err = abi.AsError(err), nil
		}
		return err
	})
	if decided {
		t.done(outcomeOf(abi.Nil, cmp.Or(failure, full)))
	}
}

// poll looks at another execution for a workflow.
func (t *task) poll(ctx context.Context, b *abi.Poll) {
	var reply abi.PollReply
	failure, decided := t.execs.retryUntilDecided(ctx, "poll an execution", func() error {
		ref, err := RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		other, err := t.execs.Load(ctx, ref)
		if err != nil {
			return err
		}
		reply = abi.PollReply{State: string(other.State)}
		if other.State.Final() {
			if other, err = t.readResultOf(ctx, other); err != nil {
				return err
			}
			reply.Outcome = &abi.Outcome{Value: other.Value, Error: other.Error}
		}
		return nil
	})
	if decided {
		outcome := outcomeOf(abi.MustMarshal(&reply), failure)
		t.came(outcome)
		t.done(outcome)
	}
}

func outcomeOf(value []byte, failure *abi.Error) abi.Outcome {
	if failure != nil {
		return abi.Outcome{Error: failure}
	}
	return abi.Outcome{Value: value}
}

// hostTries bounds the tries of an op if the host is to blame for its failure: the engine, or a damaged row.
const hostTries = 5

// retryUntilDecided repeats do until it succeeds, fails for good, ctx ends or the
// host drains: a failure of the store is not the outcome of an op. A failure of the host that does not pass is the outcome
// after [hostTries]. It reports whether there is an outcome.
func (x *Executions) retryUntilDecided(ctx context.Context, doing string, do func() error) (failure *abi.Error, decided bool) {
	for n := range timer.Tries(ctx, x.Clock) {
		err := do()
		switch {
		case err == nil:
			return nil, true
		case ctx.Err() != nil || x.Host.Draining():
			return nil, false
		case !abi.IsOfHost(err) || abi.IsHostFault(err) && n >= hostTries:
			return abi.AsError(err), true
		}
		x.Logger.Warn("trying again", "doing", doing, "error", err, "try", n)
	}
	return nil, false
}
