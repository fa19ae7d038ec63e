package execution

import (
	"errors"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// quarantineRetry is how long a run stays quarantined before its pause is tried again.
const quarantineRetry = 30 * time.Second

// report logs the data of a bug report, without payloads. It returns the reason of the pause, which
// has all of it.
func (r *run) report(f *hostFault) *abi.Error {
	r.deps.metrics.faults.Inc()
	b := f.bundle(r.row, sharedledger.Look(r.ledger, (*ledger.Ledger).Position))
	r.log.Error("host fault: one execution is paused, the others go on; please report this line",
		"code", abi.CodeHostFault, "id", r.id, "fault", f.What, "digest", b.Digest, "delivered", b.Delivered, "turn",
		b.Turn,
		"build", b.Build, "go", b.Go, "stack", string(f.Stack),
	)
	reason := abi.Errorf(abi.CodeHostFault, "the host failed while it worked on this execution: %s", f.What)
	reason.Details = abi.MustMarshal(&b)
	return reason
}

// quarantine stops the work on an execution after a fault. The state of the run may be half of the
// truth, so it is all dropped; the journal is not touched. The row is paused. As long as that is
// not possible the run stays in memory and refuses all requests but to resume and to terminate, and
// nothing is done for it but to try the pause again.
func (r *run) quarantine(notices []notice, f *hostFault) {
	r.life.quarantine(r.report(f))
	notices = append(r.resolveReserved(r.hand.takeWaiting(notices)), r.hand.takeAgain()...)
	kept := r.keptAmong(notices)
	for _, letGo := range []func(){r.instance.Drop, r.stopTasks} {
		if again := guarded(letGo); again != nil {
			_ = r.report(again) // the first is why it is paused
		}
	}
	r.instance.Abandon()
	r.row = nil
	r.forgetMail()
	r.published.Forget()
	r.pendingWrite, r.stuck, r.failures.crashes = nil, nil, 0
	r.pauseFaulty()
	if r.life.phase == quarantined {
		r.hand.waiting = kept
	} else {
		r.hand.requeue(kept...)
	}
	r.deps.stopped.tellStopped(r.mail.undecided)
	r.mail.forgetUndecided()
}

// keptAmong takes the notices out of some that outlast a fault, and refuses all others. A request to terminate the run
// is durable: it is heeded when the run is loaded again. That is tried once more after a fault, since it may be what
// fails; the scan for mail tries it after that. The start of a run that takes the place of this one is durable as well.
func (r *run) keptAmong(notices []notice) (kept []notice) {
	for _, m := range notices {
		var reply chan<- error
		switch m := content(m).(type) {
		case started:
			if m.row.Chain != r.chain {
				kept = append(kept, wake{})
			}
		case messageArrived:
			reply = m.reply
		case lookForMail:
			reply = m.reply
		}
		if reply == nil || r.run.IsZero() || r.notFor(m) != nil {
			refuseAll([]notice{m}, r.life.fault)
			continue
		}
		kept = append(kept, ofChain{r.chain, endAwaited{reply}})
	}
	return kept
}

// pauseFaulty pauses the execution in quarantine, or has that tried again later.
func (r *run) pauseFaulty() {
	var err error
	if again := guarded(func() { err = r.deps.commitFaultyPause(r.id, r.chain, r.life.fault) }); again != nil {
		err = errors.New(again.What)
	}
	if err != nil && !r.deps.Host.Over() {
		r.log.Error(
			"a faulty execution could not be paused; it is held until it can be", "id", r.id, "error", err, "again",
			quarantineRetry,
		)
		r.deps.Timers.Set(r.id, r.deps.Clock.Now().Add(quarantineRetry).UnixNano())
		return
	}
	r.life.release()
	r.deps.Timers.Set(r.id, journal.Never)
}

// receiveQuarantined receives for a run whose pause could not be committed. A request to terminate it is durable, and
// waits for the pause; one to interrupt it is found when the execution is resumed. A run that takes its place begins
// behind the pause.
func (r *run) receiveQuarantined(notices []notice) {
	notices = r.resolveReserved(notices)
	for i, m := range notices {
		switch m := content(m).(type) {
		case resumeRequest:
			r.life.release()
			m.reply <- nil
			r.hand.requeue(wake{})
		case messageArrived, lookForMail, endAwaited:
			if reply := replyOf(m); reply == nil {
				refuse(m, r.life.fault)
				continue
			}
			r.hand.waiting = append(r.hand.waiting, notices[i])
			r.pauseFaulty()
		case wake:
			r.pauseFaulty()
		case started:
			r.hand.waiting = append(r.hand.waiting, r.keptAmong(notices[i:i+1])...)
			r.pauseFaulty()
		default:
			refuse(m, r.life.fault)
		}
		if r.life.phase != quarantined {
			r.hand.requeue(r.hand.takeWaiting(notices[i+1:])...)
			return
		}
	}
}

// loadFailed has notices received again a little later, after a load that failed. Callers waiting for a reply get the
// store's error.
func (r *run) loadFailed(notices []notice, err error) {
	if errors.Is(err, errGone) {
		if !r.chain.IsZero() {
			r.deps.tellDeleted(r.id, r.chain) // no one may have been told of its end
		}
		refuseAll(notices, noExecution())
		return
	}
	if errors.Is(err, journal.ErrCorrupt) {
		f := &hostFault{Fault: hostfault.Fault{What: err.Error()}}
		errors.As(err, &f.damaged)
		r.quarantine(notices, f)
		return
	}
	r.backOff("load", err)
	if !abi.IsTransient(err) {
		// The guest crashed while it was replayed. That ends soon, well or in a pause, and then there is an answer.
		r.hand.requeue(notices...)
		return
	}
	for _, m := range dropArrivals(notices) {
		if isMail(m) || !refuse(m, journal.Coded("load the execution", err)) {
			r.hand.requeue(m)
		}
	}
}

// errGone says that an execution has no row.
var errGone = errors.New("execution: no such execution")

func noExecution() *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "there is no such execution")
}

// commitFaultyPause pauses an execution because of a fault. It goes by the row in the store, not by
// the state of the run. If the run has ended and another one has its place by now, that one is not to blame.
// The chain is zero if the run was not loaded.
func (d *runDeps) commitFaultyPause(id journal.ID, chain journal.RunID, fault *abi.Error) error {
	row, err := d.Store.Brief(d.Host.Context(), id)
	if err == nil && !chain.IsZero() && row.Chain != chain {
		row, err = d.Store.BriefRun(d.Host.Context(), id, chain)
	}
	if errors.Is(err, journal.ErrNotFound) {
		d.tellDeleted(id, chain)
		return nil
	}
	if err != nil {
		return err
	}
	if row.State == journal.Running {
		u := journal.Update{
			State: journal.Paused, WakeAt: journal.Never, Error: fault, Waiting: row.Waiting, Section: row.Section,
		}
		if _, err := d.Committer.Commit(rowUpdate(row, &u)); err != nil {
			return err
		}
		row.State, row.WakeAt, row.Error = u.State, u.WakeAt, u.Error
		d.metrics.finished.WithLabelValues(string(journal.Paused)).Inc()
	}
	d.tell(row)
	return nil
}
