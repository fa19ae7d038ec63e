package execution

import (
	"errors"
	"log/slog"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// run is an execution in memory: see the package comment. All of it belongs to its goroutine (there
// is at most one), except for the ledger: transactions of activities reserve their numbers there.
type run struct {
	execs *Executions
	id    journal.ID
	run   journal.RunID // the run of all fields below; zero until the first load
	// chain is the first of the runs that this one continues, or itself.
	chain journal.RunID
	log   *slog.Logger

	life     lifetime
	row      *journal.Execution // nil until loaded
	ledger   *sharedLedger
	instance *instance
	progress progress
	failures failures
	hand     hand
	tasks    taskSet
	mail     mail
	length   lengthWarning

	input        *budget.Permit     // of the input in the row; or nil
	published    *journal.Published // its published values, if known: see publishedNow
	carried      ledger.CarriedOver // outcomes and attempts, during a reload
	eagerStart   *eagerStart        // the first turn, begun before the start was durable; or nil
	pendingWrite *pendingWrite      // a write that the store has not taken yet
	stuck        *abi.Error         // reason to pause it once all is delivered
	rowWrites    uint64             // counts the writes of the row, and when it may have been written
	requested    bool               // something was asked of it since its last turn; more may follow
	idle         bool               // nothing keeps the run in memory
	behind       bool               // it takes no turns ahead of a transaction: see ahead.go
}

var _ actor.Actor[notice] = (*run)(nil)

func newRun(x *Executions, id journal.ID) *run {
	l := newSharedLedger()
	return &run{
		execs: x, id: id, log: x.Logger,
		ledger:   l,
		instance: &instance{execs: x, id: id, departure: newDeparture()},
		tasks:    newTaskSet(x, id, l),
		mail:     newMail(),
		carried:  ledger.NewCarriedOver(),
	}
}

// Receive implements actor.Actor.
func (r *run) Receive(notices []notice) []notice {
	defer func() { r.tasks.pace(r.carried.Bytes()) }()
	r.takeInputs(notices)
	if r.execs.Host.Over() {
		refuseAll(notices, r.execs.Host.EndReason())
		return nil
	}
	if r.life.phase == quarantined {
		r.receiveQuarantined(notices)
		return r.hand.takeAgain()
	}
	if r.instance.guest != nil {
		r.execs.resident.Use(r.id)
	}
	if f := guarded(func() { r.handle(notices) }); f != nil {
		r.quarantine(notices, f)
	}
	r.instance.dropRoom()
	r.eagerStart.discard() // unless it has become the first turn
	r.eagerStart = nil
	return r.hand.takeAgain()
}

// Park implements actor.Actor: it sets the timer, and finds out whether the run may be forgotten.
func (r *run) Park() []notice {
	r.idle = false
	if r.life.phase == quarantined {
		return nil
	}
	if f := guarded(func() { r.idle = r.armTimer() }); f != nil {
		r.quarantine(nil, f)
	}
	return r.hand.takeAgain()
}

// Release implements actor.Actor.
func (r *run) Release() bool {
	if !r.idle || look(r.ledger, (*ledger.Ledger).Undecided) > 0 || len(r.tasks.all) > 0 {
		r.execs.resident.Rest(r.id)
		return false
	}
	r.instance.leaving = r.instance.take()
	return true
}

// Forgotten implements actor.Actor.
func (r *run) Forgotten() {
	r.instance.close()
	r.input.Release()
	r.tasks.undelivered.setKnown(0)
}

// armTimer sets the timer of a run that is about to park. It reports whether the run may be forgotten: then the store
// knows when it must be woken.
func (r *run) armTimer() bool {
	if r.pendingWrite != nil {
		return false
	}
	if r.row == nil || r.row.State != journal.Running {
		return true
	}
	if !r.life.begun() && r.execs.Host.Over() {
		return true // its waiting state is not known here, and right in the store
	}
	if r.instance.evicted {
		r.wantToLeave() // the cause to stay in memory may have ended
	}
	var due, wake int64
	var unwanted bool
	r.ledger.with(func(l *ledger.Ledger) { due, wake, unwanted = l.Ops().DueAt(), l.Ops().WakeAt(), l.HasUnwanted() })
	r.execs.Timers.Set(r.id, due)
	if wake == journal.Now || r.instance.guest != nil && !r.restsFor(max(r.execs.IdleTimeout, timer.MaxLead)) {
		return false
	}
	if (r.row.WakeAt != wake || unwanted) && !r.commitWake(wake) {
		return false
	}
	r.execs.save(r.hibernate(r.execs.Hibernation.WhenDropped), r.instance.guest)
	r.execs.Timers.Leave(r.id, due)
	return true
}

// restsFor tells whether nothing is expected to happen to the run for so long: it waits for a time that is farther
// away, and for nothing that others bring about. To keep its instance would gain nothing, as it would be dropped before
// it is used.
func (r *run) restsFor(d time.Duration) bool {
	until := look(r.ledger, func(l *ledger.Ledger) int64 { return l.Ops().RestsUntil() })
	return r.life.begun() && !r.requested && len(r.tasks.all) == 0 && until > r.execs.Clock.Now().Add(d).UnixNano()
}

// waitingNow returns the waiting state of the run, as far as it is loaded and all effects of its
// turns are durable.
func (r *run) waitingNow() (now journal.Waiting) {
	if r.life.phase != live {
		return r.row.Waiting
	}
	r.ledger.with(func(l *ledger.Ledger) { now = l.WaitingAfter(nil) })
	return now
}

// commitWake corrects the wake time in the store, so that the run can be forgotten. It reports whether it did.
func (r *run) commitWake(wake int64) bool {
	w := journal.Write{
		ID:     r.id,
		Run:    r.row.Run,
		Chain:  r.row.Chain,
		Update: &journal.Update{State: r.row.State, WakeAt: wake, Waiting: r.waitingNow(), Section: r.row.Section},
	}
	r.ledger.with(func(l *ledger.Ledger) { w.Take = l.TakeUnwanted() })
	return r.commit("commit a wake time", w, ledger.Batch{}, func() bool {
		r.row.WakeAt, r.row.Waiting = wake, w.Update.Waiting
		return true
	})
}

// prepare makes an instance for a run that will need it soon. If that fails, it will be tried again when it is needed,
// and then be seen to.
func (r *run) prepare() {
	if r.life.begun() && r.row.State == journal.Running && !r.execs.Host.Draining() {
		ctx, end := r.cancelable()
		defer end()
		if err := r.ensureGuest(ctx); err != nil {
			r.instance.drop()
		}
	}
}

// wantToLeave has tasks that wait for entities leave that to the inbox, if nothing else keeps the run in memory. The
// run has no instance, and is parked.
func (r *run) wantToLeave() {
	if !r.instance.departure.wanted && r.tasks.waitForEntities() {
		r.instance.departure.want()
	}
}

// handle receives notices and then takes as many turns as they allow.
func (r *run) handle(notices []notice) {
	r.hand.unreceived = notices
	defer func() { r.hand.unreceived = nil }()
	if r.row == nil || r.pendingWrite != nil {
		notices = dropReleases(notices)
	}
	if !r.settlePending(notices) {
		return
	}
	if r.row == nil {
		var loaded bool
		if notices, loaded = r.ensureLoaded(notices); !loaded {
			return
		}
	}
	for i, m := range notices {
		if r.row == nil || r.pendingWrite != nil {
			// The run was unloaded, or has something to commit first: the rest is received after that.
			r.hand.requeue(notices[i:]...)
			return
		}
		r.hand.unreceived = notices[i+1:]
		r.receive(m)
	}
	if r.row == nil || r.pendingWrite != nil || r.readMail() {
		r.advance()
	}
	if r.row != nil && r.pendingWrite == nil && len(r.mail.asked) > 0 && !r.execs.Host.Over() {
		r.commitStops()
	}
	r.mail.letGo()
}

// receive takes in one notice. It decides nothing that needs the guest.
func (r *run) receive(m notice) {
	if refusal := r.notFor(m); refusal != nil {
		if r.missed(m) {
			r.reload(ledger.Batch{})
			r.hand.requeue(m)
			return
		}
		refuseAll([]notice{m}, refusal)
		return
	}
	m = content(m)
	r.requested = r.requested || isRequest(m)
	switch m := m.(type) {
	case started:
		if r.chain != m.row.Chain {
			// It is not the run of the same name which was here before.
			if r.input == m.input {
				r.input = nil // it is received again with the start
			}
			r.unload()
			r.hand.requeue(m)
			return
		}
		m.head.discard() // it has taken that turn itself
	case soon:
		r.prepare()
	case attemptBegins:
		r.beginAttempt(m)
	case releaseRequest:
		r.giveUpAttempts(m)
	default:
		if !r.receiveEnd(m) {
			r.answerRequest(m)
		}
	}
}

// receiveEnd takes the outcome of an op. It reports false for any other notice.
func (r *run) receiveEnd(m notice) bool {
	switch m := m.(type) {
	case opDone:
		r.tasks.end(m.step)
		r.ledger.with(func(l *ledger.Ledger) { l.Complete(m.step, m.outcome, m.attempts, m.at) })
	case attemptFailed:
		r.tasks.end(m.step)
		var failed ledger.FailedAttempt
		r.ledger.with(func(l *ledger.Ledger) { failed = l.AttemptFailed(m.step, m.err, r.execs.now(), r.execs.Random) })
		logFailed(r.log, failed)
	case txCommitted:
		r.tasks.end(m.entry.Op.Step())
		r.ledger.with(func(l *ledger.Ledger) { l.Commit(m.entry) })
	case txVoid:
		r.ledger.with(func(l *ledger.Ledger) { l.Void(m.seq) })
	case opDropped:
		r.tasks.end(m.step)
	case resultSent:
		r.ledger.with(func(l *ledger.Ledger) {
			if !l.KnowsResult(m.message.Envelope) {
				r.mail.results[m.message.Origin] = m.message
			}
		})
	case calleeOver:
		r.tasks.end(m.Step)
		r.ledger.with(func(l *ledger.Ledger) { l.AddResult(m.Result) })
	case opAwaits:
		r.ledger.with(func(l *ledger.Ledger) { l.Ops().Change(m.step, (*op.Op).Await) })
		r.tasks.end(m.step)
	case taskFault:
		r.tasks.end(m.step)
		if m.seq == 0 {
			r.stuck = r.report(m.fault)
			break
		}
		// Nothing may be delivered before the journal was read again.
		r.quarantine([]notice{ofRun{r.run, m}}, m.fault)
	case opStuck:
		r.tasks.end(m.step)
		r.stuck = m.err
	default:
		return false
	}
	return true
}

// answerRequest serves a request from outside the run.
func (r *run) answerRequest(m notice) {
	switch m := m.(type) {
	case resumeRequest:
		r.answer(m, m.reply, "resume "+r.row.Name(), r.resume())
	case messageArrived:
		r.receiveMessage(m)
	case lookForMail:
		r.lookForStops(m.reply)
	case endAwaited:
		r.replyAtEnd(m.reply)
	case failRequest:
		r.answer(m, m.reply, "fail "+r.row.Name(), r.fail(m))
	case moveRequest:
		if !r.postponeMove(m) {
			r.answer(m, m.reply, "move "+r.row.Name(), r.move(m))
		}
	case waitingRequest:
		m.reply <- r.waitsFor()
	case queryRequest:
		r.query(m)
	case inspectRequest:
		m.reply <- inspected{Inspection: r.inspect()}
	}
}

// notFor tells why a notice is not for this run; nil if it is.
func (r *run) notFor(m notice) error { return addressedElsewhere(m, r.run, r.chain) }

// answer tells the caller of a request its outcome. If the answer to a commit was lost the run no
// longer knows its own row: it is loaded again, and then the request is received again. Each sees
// from the row whether it has been done.
func (r *run) answer(m notice, reply chan<- error, doing string, err error) {
	switch {
	case err == nil:
		r.failures.setbacks = 0
		reply <- nil
	case errors.Is(err, journal.ErrUndecided) && !r.execs.Host.Over():
		r.reload(ledger.Batch{})
		r.backOff(doing, err)
		r.hand.requeue(ofChain{r.chain, m})
	default:
		reply <- journal.Coded(doing, err)
	}
}

// rollBack discards all that was not committed, after a commit whose answer was lost or a failure
// that is not the guest's, and has the run rebuilt from the journal. Outcomes in hand are kept:
// whether they must be delivered again, the journal tells.
func (r *run) rollBack(b ledger.Batch, err error) {
	if errors.Is(err, journal.ErrFenced) || r.execs.Host.Over() {
		return
	}
	r.reload(b)
	r.backOff("commit", err)
}

// reload has the run rebuilt from the journal. The outcomes of a batch, and of ops that wait for theirs to be
// delivered, are kept, and so are attempts that failed.
func (r *run) reload(b ledger.Batch) {
	r.ledger.with(func(l *ledger.Ledger) { r.carried.Keep(l, b) })
	r.mail.unheard = true
	r.unload()
	r.hand.requeue(wake{})
}

// unload forgets everything but the tasks of the host and its undelivered results.
func (r *run) unload() {
	r.instance.drop()
	r.instance.releaseOps()
	r.releaseInput()
	r.row, r.published = nil, nil
	r.life.unload()
	r.rowWrites++
	r.ledger.with((*ledger.Ledger).Forget)
}

// backOff has the run rest a little after a failure, longer each time. It then retries; the caller
// ensures that there is something to receive.
func (r *run) backOff(doing string, err error) {
	delay := r.failures.backOff()
	r.log.Warn("execution step failed; retrying", "doing", doing, "error", err, "delay", delay)
}

// Rests implements actor.Resting: a run that waits for memory must not keep those from working that
// have it.
func (r *run) Rests() time.Duration { return r.failures.takeRest() }

// startTasks sets the host to work for the ops that need it: see [taskSet.startAll].
func (r *run) startTasks() {
	r.tasks.startAll(workOf{row: r.row, rowWrites: r.rowWrites, left: r.instance.departure.left})
}

// stopTasks ends all work: the execution needs none any more.
func (r *run) stopTasks() {
	r.tasks.endAll()
	r.carried.Clear()
	r.instance.releaseOps()
	r.ledger.with((*ledger.Ledger).Forget)
}
