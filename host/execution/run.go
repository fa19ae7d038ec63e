package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// run is an execution in memory: see the package comment. Mail may be posted by
// anybody; all else belongs to the goroutine that works the run, of which there
// is at most one.
type run struct {
	eng *Engine
	id  journal.ID

	mu       sync.Mutex
	mail     []event             // guarded by mu
	working  bool                // guarded by mu
	seq      uint64              // guarded by mu; last sequence number assigned
	turn     uint64              // guarded by mu; last turn assigned
	clock    int64               // guarded by mu; journal time last assigned
	reserved map[uint64]struct{} // guarded by mu; numbers whose transaction is undecided
	pending  map[uint32]*op      // guarded by mu; issued, neither delivered nor cancelled
	lastUsed time.Time           // guarded by mu
	guest    *guest              // guarded by mu while the run is not worked

	row       *journal.Execution // nil until loaded
	log       *slog.Logger
	deferreds map[string]journal.Deferred
	inflight  map[uint32]*work    // what the host does for ops; survives a reload
	delivered uint64              // sequence number of the last delivery the guest saw
	committed []journal.Entry     // entries of transactions, to be delivered in order
	salvaged  map[uint32]doneMail // outcomes to deliver again after a reload
	attempts  []journal.Entry     // failed attempts, to be committed with the next write
	crashes   int                 // of the guest, one after the other
	held      []event             // mail that waits for reserved numbers before a load
	setbacks  int                 // failures of the store, one after the other
	started   bool                // the guest has had its first turn, now or in the journal
}

func newRun(e *Engine, id journal.ID) *run {
	return &run{
		eng: e, id: id, log: e.log,
		reserved:  map[uint64]struct{}{},
		pending:   map[uint32]*op{},
		deferreds: map[string]journal.Deferred{},
		inflight:  map[uint32]*work{},
		salvaged:  map[uint32]doneMail{},
	}
}

// event is a piece of mail.
type event interface{ isEvent() }

type (
	// startMail brings a new execution, durable already.
	startMail struct{ row *journal.Execution }
	// wakeMail says that a time has come, or that the run should look around.
	wakeMail struct{}
	// doneMail brings the outcome of an op, not journaled yet.
	doneMail struct {
		op       uint32
		attempts uint32
		outcome  abi.Outcome
	}
	// failedMail says that an attempt of an activity failed.
	failedMail struct {
		op  uint32
		err *abi.Error
	}
	// committedMail brings an entry that a transaction made durable.
	committedMail struct{ entry journal.Entry }
	// voidMail says that a reserved sequence number stays a gap.
	voidMail struct{ seq uint64 }
	// droppedMail says that the host gave up on an op without an outcome; it
	// is performed again if somebody still waits for it.
	droppedMail struct{ op uint32 }
	// settleMail asks for a deferred to be settled.
	settleMail struct {
		deferred journal.Deferred
		reply    chan<- error
	}
	// interruptMail asks for the execution to be interrupted.
	interruptMail struct {
		interrupt journal.Interrupt
		reply     chan<- error
	}
	// resumeMail asks for a paused execution to go on.
	resumeMail struct{ reply chan<- error }
	// failMail asks for a paused execution to be failed; at is when that was
	// asked, and tells the request from others.
	failMail struct {
		reason string
		at     int64
		reply  chan<- error
	}
	// inspectMail asks what the execution is waiting for.
	inspectMail struct{ reply chan<- inspection }
)

func (startMail) isEvent()     {}
func (wakeMail) isEvent()      {}
func (doneMail) isEvent()      {}
func (failedMail) isEvent()    {}
func (committedMail) isEvent() {}
func (voidMail) isEvent()      {}
func (droppedMail) isEvent()   {}
func (settleMail) isEvent()    {}
func (interruptMail) isEvent() {}
func (resumeMail) isEvent()    {}
func (failMail) isEvent()      {}
func (inspectMail) isEvent()   {}

// post appends mail and sets the run to work. The engine's lock is held, so
// that the run cannot be forgotten meanwhile.
func (r *run) post(ev event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mail = append(r.mail, ev)
	if !r.working {
		r.working = r.eng.work.start(r.workOff)
	}
}

// workOff handles mail until there is none.
func (r *run) workOff() {
	for {
		r.mu.Lock()
		mail := r.mail
		r.mail = nil
		r.mu.Unlock()
		if len(mail) == 0 {
			if r.rest() {
				return
			}
			continue
		}
		if r.eng.ctx.Err() != nil {
			refuse(mail, abi.Errorf(abi.CodeShuttingDown, "the host is shutting down"))
			continue
		}
		r.handle(mail)
	}
}

// rest ends the work if no mail came in meanwhile, and forgets the run if there
// is nothing left to remember it for.
func (r *run) rest() bool {
	idle := r.settleDown()
	r.eng.mu.Lock()
	defer r.eng.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mail) > 0 {
		return false
	}
	r.working = false
	r.lastUsed = time.Now()
	if idle && len(r.reserved) == 0 && len(r.inflight) == 0 {
		r.dropGuest()
		delete(r.eng.runs, r.id)
		r.eng.metrics.executions.Set(float64(len(r.eng.runs)))
	}
	return true
}

// settleDown sets the timer of a run that is about to rest. It reports whether
// the run may be forgotten: then the store knows when it must be woken.
func (r *run) settleDown() bool {
	if r.row == nil || r.row.State != journal.Running {
		return true
	}
	next := journal.Never
	r.mu.Lock()
	for _, o := range r.pending {
		// What is settled waits for its place in the journal, not for a time.
		if !o.settled() {
			next = min(next, o.dueAt())
		}
	}
	wake := r.wakeAt()
	r.mu.Unlock()
	r.eng.timers.set(r.id, next)
	if wake == journal.Now || r.guest != nil {
		return false
	}
	if r.row.WakeAt != wake && !r.commitWake(wake) {
		return false
	}
	if next > r.eng.now().Add(timerHorizon).UnixNano() {
		r.eng.timers.set(r.id, journal.Never)
	}
	return true
}

// wakeAt is when an owner without this run in memory must load it. r.mu is
// held.
func (r *run) wakeAt() int64 {
	wake := journal.Never
	for _, o := range r.pending {
		wake = min(wake, o.wakeAt())
	}
	return wake
}

// commitWake corrects the wake time in the store, so that the run can be
// forgotten. It reports whether it did.
func (r *run) commitWake(wake int64) bool {
	_, err := r.eng.commit(journal.Write{ID: r.id, Update: &journal.Update{State: r.row.State, WakeAt: wake}})
	if err != nil {
		r.rollBack(batch{}, err)
		return false
	}
	r.row.WakeAt = wake
	return true
}

// dropGuest closes the instance, if there is one. The journal knows all it
// knew.
func (r *run) dropGuest() {
	if r.guest != nil {
		r.eng.resident.remove(r.id)
		r.guest.close()
		r.guest = nil
	}
}

// handle reads a batch of mail and then takes as many turns as it allows.
func (r *run) handle(mail []event) {
	if r.row == nil {
		var ok bool
		if mail, ok = r.bringIn(mail); !ok {
			return
		}
	}
	for i, ev := range mail {
		if r.row == nil {
			// Something in the mail had the run unloaded: the rest is read after it
			// was loaded again.
			r.unread(mail[i:])
			return
		}
		r.read(ev)
	}
	r.proceed()
}

// unread puts mail back to the front of the box.
func (r *run) unread(mail []event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mail = append(slices.Clone(mail), r.mail...)
}

// bringIn loads the execution; a new one brings its row along. It returns the
// mail that is left to read, and false if it must wait.
func (r *run) bringIn(mail []event) ([]event, bool) {
	mail = r.clearReserved(append(r.held, mail...))
	r.held = nil
	if len(r.reserved) > 0 {
		// A transaction is about to add to the journal or not. Reading the journal
		// now could miss an entry that stands before others.
		r.held = mail
		return nil, false
	}
	if len(mail) > 0 {
		if s, ok := mail[0].(startMail); ok {
			row := *s.row
			r.adopt(&row)
			return mail[1:], true
		}
	}
	if err := r.load(r.eng.ctx); err != nil {
		r.postpone(mail, err)
		return nil, false
	}
	return mail, true
}

// clearReserved reads what became of transactions before the journal is loaded:
// those that committed are in it.
func (r *run) clearReserved(mail []event) []event {
	var rest []event
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range mail {
		switch ev := ev.(type) {
		case committedMail:
			delete(r.reserved, ev.entry.Seq)
			r.endWork(ev.entry.Op.Number)
		case voidMail:
			delete(r.reserved, ev.seq)
		default:
			rest = append(rest, ev)
		}
	}
	return rest
}

func (r *run) adopt(row *journal.Execution) {
	r.row = row
	r.clock = max(r.clock, row.CreatedAt)
	r.log = r.eng.log.With("execution", row.Name())
}

// read takes in one piece of mail. It decides nothing that needs the guest.
func (r *run) read(ev event) {
	switch ev := ev.(type) {
	case doneMail:
		r.readDone(ev)
	case failedMail:
		r.readFailed(ev)
	case committedMail:
		r.readCommitted(ev)
	case voidMail:
		r.mu.Lock()
		delete(r.reserved, ev.seq)
		r.mu.Unlock()
	case startMail:
		if r.row.CreatedAt != ev.row.CreatedAt {
			// It is another one than that of the same name which was here before.
			r.reload(batch{})
		}
	case droppedMail:
		r.endWork(ev.op)
	case settleMail:
		r.answer(ev, ev.reply, "settle "+ev.deferred.Name, r.settle(ev.deferred))
	case interruptMail:
		r.answer(ev, ev.reply, "interrupt "+r.row.Name(), r.interrupt(ev.interrupt))
	case resumeMail:
		r.answer(ev, ev.reply, "resume "+r.row.Name(), r.resumePaused())
	case failMail:
		r.answer(ev, ev.reply, "fail "+r.row.Name(), r.failPaused(ev))
	case inspectMail:
		ev.reply <- r.inspect()
	}
}

func (r *run) readDone(m doneMail) {
	r.endWork(m.op)
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.pending[m.op]; o != nil && !o.settled() {
		o.outcome, o.attempts = &m.outcome, m.attempts
	}
}

func (r *run) readCommitted(m committedMail) {
	r.endWork(m.entry.Op.Number)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reserved, m.entry.Seq)
	if o := r.pending[m.entry.Op.Number]; o != nil {
		o.journaled = true
	}
	r.committed = append(r.committed, m.entry)
}

// readFailed decides whether an activity is tried again. If so the failure
// becomes an entry of its own: attempts and delays survive a crash.
func (r *run) readFailed(m failedMail) {
	r.endWork(m.op)
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.pending[m.op]
	if o == nil || o.settled() {
		return
	}
	body, ok := o.body.(*abi.Activity)
	if !ok {
		return // after a reload the number may be that of another op, if the guest cheats
	}
	o.attempts++
	o.lastError = m.err
	if !m.err.Retryable || o.attempts > body.Retry.Retries {
		o.outcome = &abi.Outcome{Error: m.err}
		return
	}
	o.nextAt = addTime(r.eng.now().UnixNano(), backoff(body.Retry, o.attempts, randomFraction))
	r.attempts = append(r.attempts, journal.Entry{
		Kind: journal.Attempt, Op: o.Op, Attempts: o.attempts, Error: m.err, NextAt: o.nextAt,
	})
}

func (r *run) endWork(number uint32) {
	if w := r.inflight[number]; w != nil {
		w.cancel()
		delete(r.inflight, number)
	}
}

// postpone puts mail back after a load that failed, to be read again a little
// later. Who waits for an answer hears of a store that fails.
func (r *run) postpone(mail []event, err error) {
	if err == errGone {
		refuse(mail, abi.Errorf(abi.CodeExecutionNotFound, "there is no such execution"))
		return
	}
	r.setback("load", err)
	var coded *abi.Error
	if errors.As(err, &coded) && !passing(coded) {
		// The guest crashed while it was replayed. That ends soon, well or in a
		// pause, and then there is an answer.
		r.unread(mail)
		return
	}
	var keep []event
	for _, ev := range mail {
		if !refuseOne(ev, storeError("load the execution", err)) {
			keep = append(keep, ev)
		}
	}
	r.unread(keep)
}

// setback waits a little after a failure, longer each time, or until the engine
// ends.
func (r *run) setback(doing string, err error) {
	r.setbacks++
	delay := min(time.Duration(r.setbacks)*50*time.Millisecond, 5*time.Second)
	r.log.Warn("could not go on; trying again", "doing", doing, "error", err, "delay", delay)
	wait(r.eng.ctx, delay)
}

// wait sleeps unless ctx ends first.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// refuse answers whoever waits for an answer among the mail.
func refuse(mail []event, err error) {
	for _, ev := range mail {
		refuseOne(ev, err)
	}
}

// refuseOne reports whether somebody waited.
func refuseOne(ev event, err error) bool {
	switch ev := ev.(type) {
	case settleMail:
		ev.reply <- err
	case interruptMail:
		ev.reply <- err
	case resumeMail:
		ev.reply <- err
	case failMail:
		ev.reply <- err
	case inspectMail:
		ev.reply <- inspection{err: err}
	default:
		return false
	}
	return true
}
