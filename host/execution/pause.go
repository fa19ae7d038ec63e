package execution

import (
	"context"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// crashLimit is how often a guest may crash in the same place before its execution is paused.
const crashLimit = 3

// crashed handles a turn that the guest did not survive, or a replay that was not possible. It reports whether the run
// goes on: then the caller has the guest try again.
func (r *run) crashed(b ledger.Batch, err error) bool {
	r.instance.drop()
	if r.execs.Host.Over() {
		return false
	}
	if abi.IsTransient(err) {
		r.rollBack(b, err)
		return false
	}
	var coded *abi.Error
	errors.As(err, &coded)
	r.failures.crashes++
	r.execs.metrics.crashes.Inc()
	again, reason := afterCrash(coded, guest.IsTrap(err), r.failures.crashes)
	if !again {
		r.pause(b, reason)
		return false
	}
	r.log.Warn("the workflow crashed; replaying", "crash", r.failures.crashes, "error", coded)
	if len(b.Entries) == 0 {
		r.life.startOver()
	}
	return true
}

// afterCrash decides whether a guest that crashed for the nth time in a row is run again. If not, it says why the
// execution is paused.
func afterCrash(err *abi.Error, trapped bool, crashes int) (again bool, reason *abi.Error) {
	again = trapped && err.Retryable || err.Code == abi.CodeModuleInit || abi.IsOfHost(err)
	switch {
	case again && crashes < crashLimit:
		return true, nil
	case !trapped || !err.Retryable:
		return false, err
	default:
		return false, abi.Errorf(abi.CodeCrashLoop, "the workflow crashed %d times in a row; last: %v", crashes, err)
	}
}

// pause stops an execution that cannot go on, and keeps everything: undelivered outcomes are
// journaled with it.
func (r *run) pause(b ledger.Batch, reason *abi.Error) { r.pauseWaiting(b, reason, r.waitingNow()) }

// pauseWaiting is pause of a run that waited for something before the batch.
func (r *run) pauseWaiting(b ledger.Batch, reason *abi.Error, waiting journal.Waiting) {
	u := journal.Update{
		State: journal.Paused, WakeAt: journal.Never, Error: reason, Waiting: waiting, Section: r.row.Section,
	}
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &u}
	r.ledger.with(func(l *ledger.Ledger) { w.Entries = l.TakeAttempts(r.execs.now()) })
	b.WriteTo(&w)
	r.execs.Fault.Pass(faultpoint.PauseBeforeCommit)
	r.commit("commit a pause", w, b, func() bool {
		r.execs.Fault.Pass(faultpoint.PauseAfterCommit)
		r.applyUpdate(u)
		r.failures.crashes, r.stuck = 0, nil
		r.log.Error("paused", "code", reason.Code, "reason", reason.Message)
		r.execs.metrics.finished.WithLabelValues(string(journal.Paused)).Inc()
		r.stopTasks()
		r.execs.Watchers.Notify(r.row)
		return false
	})
}

// Resume lets a paused execution go on.
func (o *Operator) Resume(ctx context.Context, ref request.Ref) error {
	return o.runs.ask(ctx, ref, func(reply chan<- error) notice { return resumeRequest{reply} })
}

// resume lets a paused execution go on.
func (r *run) resume() error {
	if r.row.State != journal.Paused {
		return notPaused(r.row)
	}
	r.execs.Fault.Pass(faultpoint.ResumeBeforeCommit)
	update := &journal.Update{
		State: journal.Running, WakeAt: journal.Now, Waiting: r.row.Waiting, Section: r.row.Section,
	}
	err := r.commitNow(journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: update})
	if errors.Is(err, journal.ErrUndecided) {
		// Nothing tells whether it goes on because of this request; but if it does it must be loaded.
		r.reload(ledger.Batch{})
		return journal.Coded("resume "+r.id.String(), err)
	}
	if err != nil {
		return err
	}
	r.execs.Fault.Pass(faultpoint.ResumeAfterCommit)
	r.log.Info("resumed", "interrupted", r.row.Interrupt != nil)
	r.reload(ledger.Batch{})
	r.failures.crashes = 0
	return nil
}

// ResumeToStop asks an execution to stop, and lets it go on for that if it is paused. It returns once that is
// durable; the execution then runs its cleanup. One that is paused at the limit of its journal has
// room for it. The request comes first: a paused one takes no step that it would not take when it is asked to stop.
func (o *Operator) ResumeToStop(ctx context.Context, ref request.Ref, reason string) error {
	if err := o.messages.Interrupt(ctx, ref, reason); err != nil {
		return err
	}
	err := o.Resume(ctx, ref)
	if abi.CodeOf(err) == abi.CodeNotPaused {
		return nil
	}
	return err
}

// Fail ends a paused execution for good. Its guest does not run again, so that it works whatever keeps the guest from
// running. It returns once the failure is durable.
func (o *Operator) Fail(ctx context.Context, ref request.Ref, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return abi.Errorf(
			abi.CodeBadRequest,
			"the reason is empty: callers that wait for the result are told why it will never be there",
		)
	}
	reason, err := request.CheckReason(reason)
	if err != nil {
		return err
	}
	at := o.runs.deps.now()
	return o.runs.ask(ctx, ref, func(reply chan<- error) notice { return failRequest{reason, at, reply} })
}

// fail makes the end of a paused execution durable and tells all watchers.
func (r *run) fail(m failRequest) error {
	finishedAt := max(m.at, r.row.CreatedAt)
	if failedBefore(r.row, finishedAt) {
		return nil
	}
	if r.row.State != journal.Paused {
		return notPaused(r.row)
	}
	failure := abi.Errorf(abi.CodeFailedByOperator, "an operator failed it: %s", m.reason)
	if r.row.Error != nil {
		failure.Message += "; it was paused because of " + r.row.Error.Error()
	}
	failure.Clamp()
	u := journal.Update{
		State: journal.Failed, WakeAt: journal.Never, Error: failure, FinishedAt: finishedAt, Waiting: r.row.Waiting,
	}
	stops, err := r.stopAll()
	if err != nil {
		return err
	}
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &u, Send: stops}
	ledger.Acknowledge(&w, r.mail.asked, r.row.Interrupt)
	r.execs.Fault.Pass(faultpoint.FailBeforeCommit)
	if err := r.commitSends(w); err != nil {
		return err
	}
	r.execs.Fault.Pass(faultpoint.FailAfterCommit)
	r.applyUpdate(u)
	r.log.Info("failed by an operator", "reason", m.reason)
	r.finish()
	return nil
}

// failedBefore tells whether this very request has already changed the row: the answer to its
// commit was lost, and it is received a second time.
func failedBefore(row *journal.Execution, finishedAt int64) bool {
	failure := row.Error
	return failure != nil && failure.Code == abi.CodeFailedByOperator && row.FinishedAt == finishedAt
}

// notPaused refuses a request for paused executions alone.
func notPaused(row *journal.Execution) error {
	err := abi.Errorf(abi.CodeNotPaused, "%s is %s", row.Name(), row.State)
	if row.State.Final() {
		return err.WithHint("%s", abi.CodeAlreadyOver.Info().Hint)
	}
	return err
}
