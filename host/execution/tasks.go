package execution

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// task is one op being performed, on a goroutine of its own. It has copies: op and row belong to the run.
type task struct {
	execs *Executions
	id    journal.ID
	row   *journal.Execution
	op    journal.Op
	step  journal.StepID
	// reserved is the sequence number of a transaction that is under way; 0 if there is none.
	reserved uint64
	cancel   context.CancelFunc
	inHand   *undelivered  // of the run
	ledger   *sharedLedger // of the run
	begun    atomic.Bool   // it has begun an attempt of an activity
	unread   atomic.Int64  // bytes that it has come to: see undelivered.go
	// rowWrites is the run's when the task began.
	rowWrites uint64
	left      <-chan struct{} // of the run
	hasLeft   bool            // its op awaits an answer
}

// post tells the run of the task something. If another run has its name by then it does not get it.
func (t *task) post(m notice) { t.execs.runs.Post(t.id, ofRun{t.row.Run, m}) }

// done posts the outcome of the op to its run.
func (t *task) done(outcome abi.Outcome) { t.doneAt(outcome, t.execs.now()) }

// doneAt posts an outcome that came to be at a time.
func (t *task) doneAt(outcome abi.Outcome, at int64) {
	t.post(opDone{step: t.step, outcome: outcome, at: at})
}

// runActivity runs an attempt and posts its outcome.
func (t *task) runActivity(ctx context.Context, body *abi.Activity, failed uint32, announced bool) {
	report := t.execs.Activities.Perform(ctx, activity.Task{
		Row: t.row, Op: t.op, Body: body, Failed: failed,
		Begin: func(ctx context.Context) bool { return t.begin(ctx, announced) },
		Reserve: func(ctx context.Context, value []byte, attempts uint32) (journal.Entry, bool) {
			entry, wanted := t.ledger.reserve(ctx, t.step, value, attempts, t.execs.now())
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

// resolve settles a deferred for a workflow. The answer is true if this settled it, false if it was settled before.
// After a crash it is asked again and must say the same, so the settlement bears an origin that is this step's alone
// and by which it is known again.
func (t *task) resolve(ctx context.Context, b *abi.Resolve) {
	name := b.Execution
	if name == "" {
		name = t.row.Name()
	}
	settled := true
	failure, decided := t.execs.retryUntilDecided(ctx, "resolve a deferred", func() error {
		ref, err := request.RefOf(t.row.Namespace, name)
		if err != nil {
			return err
		}
		err = t.execs.Messages.Settle(ctx, ref, journal.Deferred{
			Name: b.Name, Value: b.Value, Error: b.Error, Origin: journal.OriginOf(t.row.Run, t.step),
		})
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
		ref, err := request.RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		err = t.execs.Messages.Signal(ctx, ref, message.Signal{
			Name: b.Name, Value: b.Value, Origin: journal.OriginOf(step.Run, step.Step), From: step,
		})
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
		ref, err := request.RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		other, err := t.execs.Rows.Load(ctx, ref)
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

// retryUntilDecided repeats do until it succeeds, fails for good, ctx ends or the host drains: a failure of the store
// is not the outcome of an op. A failure of the host that does not pass is the outcome after [hostTries]. It reports
// whether there is an outcome.
func (x *Executions) retryUntilDecided(
	ctx context.Context, doing string, do func() error,
) (failure *abi.Error, decided bool) {
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
