package execution

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/message"
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

	mu          sync.Mutex
	ledger      ledger // guarded by mu
	undelivered undelivered

	guest          *admitted          // nil while the instance is not warm
	leaving        *admitted          // the instance of a run that is being forgotten
	ops            *budget.Permit     // of the ops in the ledger, while no instance counts them; or nil
	input          *budget.Permit     // of the input in the row; or nil
	room           int64              // expected need of its next instance, if known: see room.go
	expected       int64              // its expected need beyond that
	row            *journal.Execution // nil until loaded
	log            *slog.Logger
	deferreds      settlements
	received       message.Arrivals
	knownResults   map[journal.Origin]journal.Message // results that are in the inbox, and not in the ledger
	stopsTaken     map[uint64]bool                    // the positions of requests to stop that a turn took
	stops          []uint64                           // not taken yet
	undecidedSends []journal.Sent                     // sends of a commit whose answer was lost
	published      *journal.Published                 // its published values, if known: see publishedNow
	tasks          map[journal.StepID]*task           // work of the host for ops; survives a reload
	attempts       map[journal.StepID]*task           // those of the tasks that are activities
	carried        carriedOver                        // outcomes and attempts, during a reload
	eagerStart     *eagerStart                        // the first turn, begun before the start was durable; or nil
	pendingWrite   *pendingWrite                      // a write that the store has not taken yet
	stuck          *abi.Error                         // reason to pause it once all is delivered
	fault          *abi.Error                         // set while it is quarantined: see quarantine
	inboxRead      uint64                             // the last reading of its inbox: see inboxLocks
	unreceived     []notice                           // in hand, and not received yet
	waiting        []notice                           // received, to be handled once no number is reserved
	redeliver      []notice                           // to be received again
	reloaded       bool                               // it was rebuilt, perhaps because the answer to a commit was lost
	fresh          bool                               // it has just continued another one: its journal is empty
	begun          bool                               // the guest has had its first turn, now or in the journal
	// recovering says that turns of the replay caused something that is not durable yet: see recover.go.
	recovering bool
	fuel       int64                    // used by the turns of the guest, including replayed turns
	crashes    int                      // of the guest, one after the other
	setbacks   int                      // failures of the store, one after the other
	rest       time.Duration            // that it wants after the last of them
	rowWrites  uint64                   // counts the writes of the row, and when it may have been written
	savedSeq   uint64                   // the entry after which its state was last saved
	mailDue    bool                     // there may be mail in the inbox that it does not know
	requested  bool                     // something was asked of it since its last turn; more may follow
	idle       bool                     // nothing keeps the run in memory
	warned     bool                     // that its journal comes near its limit
	turnSince  atomic.Int64             // when the turn that is under way began; 0 if none is
	turn       atomic.Pointer[underWay] // that turn; nil if none is
	behind     bool                     // it takes no turns ahead of a transaction: see ahead.go
	left       chan struct{}            // closed when it wants to leave memory: see wantToLeave
	wantsOut   bool                     // it is closed
	evicted    bool                     // it has no instance because another one wanted the room
}

var _ actor.Actor[notice] = (*run)(nil)

func newRun(x *Executions, id journal.ID) *run {
	return &run{
		execs: x, id: id, log: x.Logger,
		ledger:       newLedger(),
		deferreds:    newSettlements(),
		received:     message.NewArrivals(maxInHand),
		knownResults: map[journal.Origin]journal.Message{},
		stopsTaken:   map[uint64]bool{},
		tasks:        map[journal.StepID]*task{},
		attempts:     map[journal.StepID]*task{},
		carried:      newCarriedOver(),
		left:         make(chan struct{}),
		undelivered:  undelivered{all: &x.outcomes},
	}
}

// Receive implements actor.Actor.
func (r *run) Receive(notices []notice) []notice {
	defer r.pace()
	r.takeInputs(notices)
	if r.execs.Host.Over() {
		refuseAll(notices, r.execs.Host.EndReason())
		return nil
	}
	if r.fault != nil {
		r.receiveQuarantined(notices)
		return r.takeAgain()
	}
	if r.guest != nil {
		r.execs.resident.Use(r.id)
	}
	if f := guarded(func() { r.handle(notices) }); f != nil {
		r.quarantine(notices, f)
	}
	r.dropRoom()
	r.eagerStart.discard() // unless it has become the first turn
	r.eagerStart = nil
	return r.takeAgain()
}

// Park implements actor.Actor: it sets the timer, and finds out whether the run
// may be forgotten.
func (r *run) Park() []notice {
	r.idle = false
	if r.fault != nil {
		return nil
	}
	if f := guarded(func() { r.idle = r.armTimer() }); f != nil {
		r.quarantine(nil, f)
	}
	return r.takeAgain()
}

// locked lets f use the ledger.
func (r *run) locked(f func(l *ledger)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.ledger)
}

// Release implements actor.Actor.
func (r *run) Release() bool {
	r.mu.Lock()
	reserved := len(r.ledger.reserved)
	r.mu.Unlock()
	if !r.idle || reserved > 0 || len(r.tasks) > 0 {
		r.execs.resident.Rest(r.id)
		return false
	}
	r.leaving = r.takeGuest()
	return true
}

// Forgotten implements actor.Actor.
func (r *run) Forgotten() {
	if r.leaving != nil {
		r.leaving.Close()
	}
	r.releaseOps()
	r.input.Release()
	r.undelivered.setKnown(0)
}

func (r *run) requeue(notices ...notice) { r.redeliver = append(r.redeliver, notices...) }

func (r *run) takeAgain() []notice {
	again := r.redeliver
	r.redeliver = nil
	return again
}

// armTimer sets the timer of a run that is about to park. It reports whether the
// run may be forgotten: then the store knows when it must be woken.
func (r *run) armTimer() bool {
	if r.pendingWrite != nil {
		return false
	}
	if r.row == nil || r.row.State != journal.Running {
		return true
	}
	if !r.begun && r.execs.Host.Over() {
		return true // its waiting state is not known here, and right in the store
	}
	if r.evicted {
		r.wantToLeave() // the cause to stay in memory may have ended
	}
	var due, wake int64
	var unwanted bool
	r.locked(func(l *ledger) { due, wake, unwanted = l.ops.DueAt(), l.ops.WakeAt(), len(l.unwanted) > 0 })
	r.execs.Timers.Set(r.id, due)
	if wake == journal.Now || r.guest != nil && !r.restsFor(max(r.execs.IdleTimeout, timer.MaxLead)) {
		return false
	}
	if (r.row.WakeAt != wake || unwanted) && !r.commitWake(wake) {
		return false
	}
	r.execs.save(r.hibernate(r.execs.Hibernation.WhenDropped), r.guest)
	r.execs.Timers.Leave(r.id, due)
	return true
}

// restsFor tells whether nothing is expected to happen to the run for so long: it waits for
// a time that is farther away, and for nothing that others bring about. To keep its instance
// would gain nothing, as it would be dropped before it is used.
func (r *run) restsFor(d time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun && !r.requested && len(r.tasks) == 0 && r.ledger.ops.RestsUntil() > r.execs.Clock.Now().Add(d).UnixNano()
}

// waitingNow returns the waiting state of the run, as far as it is loaded and all effects of its
// turns are durable.
func (r *run) waitingNow() (now journal.Waiting) {
	if !r.begun || r.recovering {
		return r.row.Waiting
	}
	r.locked(func(l *ledger) { now = l.waitingAfter(nil) })
	return now
}

// commitWake corrects the wake time in the store, so that the run can be forgotten.
// It reports whether it did.
func (r *run) commitWake(wake int64) bool {
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &journal.Update{State: r.row.State, WakeAt: wake, Waiting: r.waitingNow(), Section: r.row.Section}}
	r.locked(func(l *ledger) { w.Take = l.takeUnwanted() })
	return r.commit("commit a wake time", w, batch{}, func() bool {
		r.row.WakeAt, r.row.Waiting = wake, w.Update.Waiting
		return true
	})
}

// prepare makes an instance for a run that will need it soon. If that fails, it will be
// tried again when it is needed, and then be seen to.
func (r *run) prepare() {
	if r.begun && r.row.State == journal.Running && !r.execs.Host.Draining() {
		ctx, end := r.cancelable()
		defer end()
		if err := r.ensureGuest(ctx); err != nil {
			r.dropGuest()
		}
	}
}

// wantToLeave has tasks that wait for entities leave that to the inbox, if nothing else keeps the run in memory. The
// run has no instance, and is parked.
func (r *run) wantToLeave() {
	waits := len(r.tasks) > 0 && !r.wantsOut
	r.locked(func(l *ledger) {
		for step := range r.tasks {
			o := l.ops.Step(step)
			waits = waits && o != nil && (o.Kind == abi.OpEntityCall || o.Kind == abi.OpLock)
		}
	})
	if waits {
		close(r.left)
		r.wantsOut = true
	}
}

// keepGuest counts a fresh instance in.
func (r *run) keepGuest(g *admitted) {
	r.guest, r.evicted = g, false
	if r.wantsOut {
		r.left, r.wantsOut = make(chan struct{}), false
	}
	r.execs.resident.Use(r.id)
}

// dropGuest closes the instance, if there is one. The journal knows all it knew.
func (r *run) dropGuest() {
	if g := r.takeGuest(); g != nil {
		g.Close()
	}
}

// takeGuest takes the instance away from the run; nil if there is none. Its ops stay in the ledger,
// and their memory stays counted.
func (r *run) takeGuest() *admitted {
	g := r.guest
	if g != nil {
		r.execs.resident.Remove(r.id)
		r.guest = nil
		r.learnRoom(g.memory.Instance.Wanted())
		if r.ops == nil {
			r.ops, g.memory.Ops = g.memory.Ops, nil
		}
	}
	return g
}

// releaseOps says that the ledger has no ops any more, or that an instance counts them.
func (r *run) releaseOps() {
	if r.ops != nil {
		r.ops.Release()
		r.ops = nil
	}
}

// handle receives notices and then takes as many turns as they allow.
func (r *run) handle(notices []notice) {
	r.unreceived = notices
	defer func() { r.unreceived = nil }()
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
			// The run was unloaded, or has something to commit first: the rest is received
			// after that.
			r.requeue(notices[i:]...)
			return
		}
		r.unreceived = notices[i+1:]
		r.receive(m)
	}
	if r.row == nil || r.pendingWrite != nil || r.readMail() {
		r.advance()
	}
	if r.row != nil && r.pendingWrite == nil && len(r.stops) > 0 && !r.execs.Host.Over() {
		r.commitStops()
	}
	r.deferreds.letGo()
	r.received.LetGo()
}

// receive takes in one notice. It decides nothing that needs the guest.
func (r *run) receive(m notice) {
	if refusal := r.notFor(m); refusal != nil {
		if r.missed(m) {
			r.reload(batch{})
			r.requeue(m)
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
			r.requeue(m)
			return
		}
		m.head.discard() // it has taken that turn itself
	case soon:
		r.prepare()
	case attemptBegins:
		r.beginAttempt(m)
	case releaseRequest:
		r.release(m)
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
		r.endTask(m.step)
		r.locked(func(l *ledger) { l.complete(m.step, m.outcome, m.attempts, m.at) })
	case attemptFailed:
		r.endTask(m.step)
		var failed failedAttempt
		r.locked(func(l *ledger) { failed = l.attemptFailed(m.step, m.err, r.execs.now(), r.execs.Random) })
		failed.writeTo(r.log)
	case txCommitted:
		r.endTask(m.entry.Op.Step())
		r.locked(func(l *ledger) { l.commit(m.entry) })
	case txVoid:
		r.locked(func(l *ledger) { l.void(m.seq) })
	case opDropped:
		r.endTask(m.step)
	case resultSent:
		r.locked(func(l *ledger) {
			if !l.knowsResult(m.message.Envelope) {
				r.knownResults[m.message.Origin] = m.message
			}
		})
	case calleeOver:
		r.endTask(m.step)
		r.locked(func(l *ledger) { l.results = append(l.results, m.result) })
	case opAwaits:
		r.locked(func(l *ledger) { l.ops.Change(m.step, (*op.Op).Await) })
		r.endTask(m.step)
	case taskFault:
		r.endTask(m.step)
		if m.seq == 0 {
			r.stuck = r.report(m.fault)
			break
		}
		// Nothing may be delivered before the journal was read again.
		r.quarantine([]notice{ofRun{r.run, m}}, m.fault)
	case opStuck:
		r.endTask(m.step)
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
		r.setbacks = 0
		reply <- nil
	case errors.Is(err, journal.ErrUndecided) && !r.execs.Host.Over():
		r.reload(batch{})
		r.backOff(doing, err)
		r.requeue(ofChain{r.chain, m})
	default:
		reply <- journal.Coded(doing, err)
	}
}

// rollBack discards all that was not committed, after a commit whose answer was lost or a failure
// that is not the guest's, and has the run rebuilt from the journal. Outcomes in hand are kept:
// whether they must be delivered again, the journal tells.
func (r *run) rollBack(b batch, err error) {
	if errors.Is(err, journal.ErrFenced) || r.execs.Host.Over() {
		return
	}
	r.reload(b)
	r.backOff("commit", err)
}

// reload has the run rebuilt from the journal. The outcomes of a batch, and of ops
// that wait for theirs to be delivered, are kept, and so are attempts that failed.
func (r *run) reload(b batch) {
	r.locked(func(l *ledger) { r.carried.keep(l, b) })
	r.reloaded = true
	r.unload()
	r.requeue(wake{})
}

// unload forgets everything but the tasks of the host and its undelivered results.
func (r *run) unload() {
	r.dropGuest()
	r.releaseOps()
	r.releaseInput()
	r.row, r.begun, r.recovering, r.published = nil, false, false, nil
	r.rowWrites++
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.forgetOps()
}

// backOff has the run rest a little after a failure, longer each time. It then retries; the caller
// ensures that there is something to receive.
func (r *run) backOff(doing string, err error) {
	r.setbacks++
	r.rest = min(time.Duration(r.setbacks)*50*time.Millisecond, 5*time.Second)
	r.log.Warn("execution step failed; retrying", "doing", doing, "error", err, "delay", r.rest)
}

// Rests implements actor.Resting: a run that waits for memory must not keep those from working that
// have it.
func (r *run) Rests() time.Duration {
	rest := r.rest
	r.rest = 0
	return rest
}
