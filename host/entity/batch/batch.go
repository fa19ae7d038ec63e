package batch

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Job is a batch of calls of one entity, in their order.
type Job struct {
	ID    journal.ID
	Name  target.Ref // of the entity; zero if it is not known
	Calls []*call.Call
	// State is the state as of the last commit; nil if it is to be loaded.
	State *snapshot.Snapshot
	// Wary says that any call may be repeated: see receipts.go.
	Wary bool
	// Lock is the lock of the run that holds the entity; nil if none does.
	Lock *journal.Lock
	// Leftover says that there is the row of a lock that no one holds.
	Leftover bool
}

// Result is the outcome of a batch.
type Result struct {
	Answers map[*call.Call]call.Answer
	// Err is why calls without an answer have none.
	Err error
	// State is the state as of the last commit; nil if it is not known.
	State *snapshot.Snapshot
	// Woken are the entities that were sent messages.
	Woken []journal.ID
	// Starts says that workflows are to be started.
	Starts bool
	// Left is why messages that were performed before are in the inbox still.
	Left error
	// Surprised reports that the commit found a repeated call that was not known to be one.
	Surprised bool
	// Unlocked reports that the row of a stale lock was deleted.
	Unlocked bool
	// Lock is the lock that was written, if any.
	Lock *journal.Lock
	// Fault says that the host has failed: only the store has the truth.
	Fault bool
	// GaveUp says that messages were ended that had no attempts left.
	GaveUp bool
	// Others are calls that another batch is to perform; each has one of its own if they are Apart.
	Others []*call.Call
	Apart  bool
}

// batch is a job at work.
type batch struct {
	worker *Worker
	job    Job
	state  *snapshot.Snapshot // of the last commit; nil until it is loaded
	res    Result
}

// Perform runs the calls of a job, commits their effects and reports the outcome of each.
func (w *Worker) Perform(job Job) Result {
	b := &batch{worker: w, job: job, state: job.State, res: Result{Answers: map[*call.Call]call.Answer{}}}
	b.perform()
	b.res.State = b.state
	return b.res
}

// perform performs the calls, and explains the unanswered ones.
func (b *batch) perform() {
	err := fault.Guard(b.work)
	b.res.Apart = errors.Is(err, errTooLong)
	if b.res.Apart || errors.Is(err, errOthers) {
		err, b.res.Others = nil, b.open()
	}
	if err == nil {
		return
	}
	b.worker.Faults.Report(b.job.ID, err)
	coded := abi.AsError(journal.Coded("work on an entity", err))
	if abi.IsHostFault(coded) {
		b.state, b.res.Fault = nil, true // its state may be half of the truth
	}
	if b.res.Err = coded; !abi.IsTransient(coded) && !b.worker.Host.Over() {
		b.endHopeless(coded)
	}
}

// work performs the calls that have no answer yet. An error means that the others have none, and that nothing of them
// took effect.
func (b *batch) work() error {
	if k := b.job.Calls[0].Kind; k == call.Lock || k == call.Unlock {
		return b.performLock(b.job.Calls[0])
	}
	if b.state == nil {
		s, err := snapshot.Load(b.worker.Host.Context(), b.worker.Store, b.job.ID)
		if err != nil {
			return err
		}
		b.state = s
	}
	if err := b.answerRepeated(func(c *call.Call) bool {
		return b.job.Wary || c.Suspect || c.Refused != nil
	}); err != nil {
		return err
	}
	for _, c := range b.open() {
		if c.Refused != nil {
			b.res.Answers[c] = call.Answer{Err: c.Refused}
		}
	}
	return b.settle(b.job.Calls)
}

// settle performs the unanswered calls among some. If a message of theirs finds the inbox of its
// receiver full, nothing of them took effect: they are performed in halves, down to the failing
// operation.
func (b *batch) settle(calls []*call.Call) error {
	for {
		open := b.openOf(calls)
		if len(open) == 0 {
			return nil
		}
		repeated, err := b.runAndCommit(open)
		switch {
		case errors.Is(err, journal.ErrInboxFull) && len(open) == 1:
			return b.refuseSender(open[0])
		case errors.Is(err, journal.ErrInboxFull):
			half := len(open) / 2
			if err := b.settle(open[:half]); err != nil {
				return err
			}
			return b.settle(open[half:])
		case err != nil || !repeated:
			return err
		}
	}
}

// refuseSender answers a call whose messages were not accepted. It has changed nothing, and may be repeated. A message
// is parked and not tried again: two entities whose inboxes are full could wait for each other.
func (b *batch) refuseSender(c *call.Call) error {
	full := abi.Errorf(abi.CodeMailboxFull,
		"the inbox of an entity to which %q of %s sends is full, or has too many parked messages: the operation has "+
			"changed nothing, and sent nothing",
		c.Operation, c.Ref,
	)
	b.worker.Metrics.Refused.Inc()
	if c.Position == 0 {
		b.res.Answers[c] = call.Answer{Err: full}
		return nil
	}
	r := newRun(b)
	r.parkOrFail(c, full)
	w := r.write([]*call.Call{c})
	if err := b.worker.Commits.Commit(w); err != nil {
		return err
	}
	r.letOut([]*call.Call{c}, w)
	return nil
}

// open are the calls without an answer.
func (b *batch) open() (calls []*call.Call) { return b.openOf(b.job.Calls) }

// openOf are those of some calls that have no answer.
func (b *batch) openOf(some []*call.Call) (calls []*call.Call) {
	for _, c := range some {
		if _, answered := b.res.Answers[c]; !answered {
			calls = append(calls, c)
		}
	}
	return calls
}

// runAndCommit performs calls. Repeated says that some of them turned out to have been performed before, and that
// nothing of the others took effect.
func (b *batch) runAndCommit(calls []*call.Call) (repeated bool, err error) {
	r := newRun(b)
	stopped := r.perform(calls)
	if errors.Is(stopped, errOthers) {
		calls = r.performed(calls)
	} else if stopped != nil {
		return false, stopped
	}
	w := r.write(calls)
	if err := b.worker.Commits.Commit(w); err != nil {
		if errors.Is(err, journal.ErrFenced) || b.worker.Host.Over() {
			return false, err
		}
		before := len(b.res.Answers)
		if lerr := b.answerRepeated(func(*call.Call) bool { return true }); lerr != nil {
			return false, lerr
		}
		if len(b.res.Answers) > before {
			return true, nil
		}
		return false, err
	}
	r.letOut(calls, w)
	return false, stopped
}
