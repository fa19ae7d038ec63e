package stateless

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/metrics"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// maxCollisions is how often a call is repeated at once because its transaction collided with others.
const maxCollisions = 25

// Guests runs the code of entities: see [instance.Instances].
type Guests interface {
	// Call runs an operation of an entity without a state.
	Call(ctx context.Context, target target.Target, call instance.StatelessCall) (*instance.StatelessResult, error)
}

// Transactions commits the transaction of a guest together with a write, fenced by the epoch of its shard.
type Transactions interface {
	CommitTx(ctx context.Context, tx journal.GuestTx, w journal.Write) error
}

// Worker performs calls of entities without a state.
type Worker struct {
	Commits      *commit.Writer
	Faults       *fault.Log
	Guests       Guests
	Host         *hoststate.State
	Logger       *slog.Logger
	Metrics      *metrics.Metrics
	Parked       *parked.Log
	Targets      target.Finder
	Transactions Transactions
}

// Perform performs a call. Unanswered says that its message is to stay in the inbox.
func (w *Worker) Perform(c *call.Call) (a call.Answer, unanswered bool) {
	err := fault.Guard(func() (err error) {
		for n := 1; ; n++ {
			c.Attempts++
			a, err = w.attempt(journal.AfterConflicts(w.Host.Context(), n-1), c)
			if !errors.Is(err, journal.ErrConflict) || n >= maxCollisions || w.Host.Over() {
				return err
			}
			if errors.Is(err, journal.ErrPreempted) {
				w.Logger.Warn(
					effects.RepeatsPreempted, "entity", c.Ref.String(), "operation", c.Operation, "error", err,
				)
			}
			timer.Wait(
				w.Host.Context(), w.Commits.Clock, min(time.Duration(n)*5*time.Millisecond, 200*time.Millisecond),
			)
		}
	})
	w.Faults.Report(c.Ref.ID(), err)
	if err == nil {
		return a, false
	}
	reason := abi.AsError(journal.Coded("call "+c.Ref.String(), err))
	if unanswered = c.Position != 0; unanswered && !abi.IsTransient(reason) {
		if ended, done := w.endHopeless(c, reason); done {
			return ended, false
		}
	}
	return call.Answer{Err: reason}, unanswered
}

// endHopeless counts an attempt of a message that failed for a reason which does not pass, and ends it after
// many: until then it holds up the messages behind it.
func (w *Worker) endHopeless(c *call.Call, reason *abi.Error) (ended call.Answer, done bool) {
	if c.Misfits++; c.Misfits < parked.MaxAttempts || w.Host.Over() {
		return ended, false
	}
	err := fault.Guard(func() (err error) {
		ended, err = w.parkOrFail(c, reason)
		return err
	})
	if err != nil {
		w.Logger.Warn(
			"a message that cannot be performed could not be parked; trying again", "entity", c.Ref.String(),
			"operation", c.Operation, "error", err,
		)
	}
	return ended, err == nil
}

// parkOrFail ends a call that cannot be performed: a message is parked, and a call has failed, also
// if its caller is gone.
func (w *Worker) parkOrFail(c *call.Call, reason *abi.Error) (call.Answer, error) {
	if c.Sent {
		return w.park(c, reason)
	}
	return w.conclude(context.Background(), c, abi.Outcome{Error: reason}, nil)
}

// attempt runs a call once, and makes its effects durable. An error means that the call is
// repeated, if it may be.
func (w *Worker) attempt(ctx context.Context, c *call.Call) (call.Answer, error) {
	outcome, tx, err := w.run(ctx, c)
	var unperformed *notPerformed
	switch {
	case errors.As(err, &unperformed):
		return w.parkOrFail(c, unperformed.reason)
	case err != nil:
		return call.Answer{}, err
	}
	return w.conclude(ctx, c, outcome, tx)
}

// conclude makes the outcome of a call durable, with its transaction if it has one.
func (w *Worker) conclude(
	ctx context.Context, c *call.Call, outcome abi.Outcome, tx journal.GuestTx,
) (_ call.Answer, err error) {
	write := writeOf(c, outcome, w.Commits.Now())
	if tx == nil && commit.IsEmpty(&write) {
		return call.Answer{Outcome: outcome}, nil
	}
	w.Commits.Fault.Pass(faultpoint.EntityBeforeCommit)
	if tx != nil {
		err = w.Transactions.CommitTx(context.WithoutCancel(ctx), tx, write)
	} else {
		_, err = w.Commits.Committer.Commit(write)
	}
	w.Metrics.Commits.WithLabelValues(metric.Result(err)).Inc()
	if err != nil {
		if outcome, err = w.afterFailure(c, err); err == nil {
			w.Commits.TellCallers(&write)
		}
		return call.Answer{Outcome: outcome}, err
	}
	w.Commits.Fault.Pass(faultpoint.EntityAfterCommit)
	w.Commits.TellCallers(&write)
	return call.Answer{Outcome: outcome}, nil
}

// notPerformed is the error of an operation that came to no outcome of its own.
type notPerformed struct{ reason *abi.Error }

// Error implements error.
func (n *notPerformed) Error() string { return n.reason.Error() }

// afterFailure finds the meaning of a failed commit. A persisted call has a receipt if it, or an
// earlier attempt whose answer was lost, took effect; if it leaves none its message is gone. If not
// it is repeated, and only one of the two can take the message.
func (w *Worker) afterFailure(c *call.Call, err error) (abi.Outcome, error) {
	if c.Position == 0 || errors.Is(err, journal.ErrFenced) {
		return abi.Outcome{}, err
	}
	if !c.LeavesReceipt() {
		if _, lerr := w.Commits.Store.Message(
			w.Host.Context(), journal.Receiver{ID: c.Ref.ID()}, c.Position,
		); errors.Is(lerr, journal.ErrNotFound) {
			return abi.Outcome{Value: abi.Nil}, nil
		}
		return abi.Outcome{}, err
	}
	receipt, lerr := w.Commits.Store.Receipt(w.Host.Context(), c.Ref.ID(), c.Origin)
	if lerr != nil {
		return abi.Outcome{}, err
	}
	return abi.Outcome{Value: receipt.Value, Error: receipt.Error}, nil
}

// writeOf is the write that makes the outcome of a call durable.
func writeOf(c *call.Call, o abi.Outcome, now int64) journal.Write {
	w := journal.Write{ID: c.Ref.ID()}
	if c.Position != 0 {
		w.Take = []uint64{c.Position}
		if c.LeavesReceipt() {
			w.Receipts = []journal.Receipt{{Origin: c.Origin, From: c.From, At: now, Value: o.Value, Error: o.Error}}
		}
		w.Send = c.AnswerTo(w.ID, o, now)
	}
	return w
}

// run runs the code of a call. A failure of the code is an outcome, or [notPerformed], and has no transaction.
func (w *Worker) run(ctx context.Context, c *call.Call) (abi.Outcome, journal.GuestTx, error) {
	if c.Damaged != nil {
		return abi.Outcome{}, nil, &notPerformed{c.Damaged}
	}
	t, err := w.Targets.Find(ctx, c.Ref)
	if err != nil {
		return abi.Outcome{}, nil, err
	}
	if _, err := t.Type.Operation(c.Operation); err != nil {
		return abi.Outcome{}, nil, &notPerformed{abi.AsError(err)}
	}
	ran, err := w.Guests.Call(ctx, t, statelessCall(c))
	switch {
	case err != nil && instance.IsOfGuest(err):
		w.Metrics.Crashes.Inc()
		failure := instance.Crashed(c.Operation, err)
		instance.LogCrash(w.Logger, c.Ref, c.Operation, failure)
		return abi.Outcome{}, nil, &notPerformed{failure}
	case err != nil:
		return abi.Outcome{}, nil, err
	case ran.Error != nil:
		if ran.Tx != nil {
			_ = ran.Tx.Rollback(context.WithoutCancel(ctx))
		}
		outcome, err := w.failed(c, *ran.Error)
		return outcome, nil, err
	}
	return ran.Outcome, ran.Tx, nil
}

// statelessCall is the attempt of a call, for the guest. A persisted call is known to others by its key.
func statelessCall(c *call.Call) instance.StatelessCall {
	attempt := instance.StatelessCall{Operation: c.Operation, Input: c.Input, Attempt: c.Attempts}
	if c.Position != 0 {
		key := cmp.Or(c.Origin, c.Message)
		attempt.IdempotencyKey = hex.EncodeToString(key[:])
	}
	return attempt
}

// failed is the outcome of a call that returned an error, or [notPerformed].
func (w *Worker) failed(c *call.Call, failure abi.Error) (abi.Outcome, error) {
	failure.Clamp()
	failure.Code = cmp.Or(failure.Code, abi.CodeOperationFailed)
	if failure.Code == abi.CodeOperationCrashed { // the guest has recovered from it
		instance.LogCrash(w.Logger, c.Ref, c.Operation, &failure)
	}
	if instance.IsUnperformed(&failure) {
		return abi.Outcome{}, &notPerformed{&failure}
	}
	return abi.Outcome{Error: &failure}, nil
}

// park parks the message of a call of an entity without a state.
func (w *Worker) park(c *call.Call, reason *abi.Error) (call.Answer, error) {
	write := journal.Write{
		ID:   c.Ref.ID(),
		Park: []journal.Parked{parked.Of(c.Ref, c.Position, reason, w.Commits.Now(), max(c.Attempts, c.Misfits))},
	}
	w.Commits.Fault.Pass(faultpoint.EntityBeforeCommit)
	if _, err := w.Commits.Committer.Commit(write); err != nil {
		// A commit before this one, whose answer was lost, may have parked it.
		_, lerr := w.Commits.Store.Message(w.Host.Context(), journal.Receiver{ID: c.Ref.ID()}, c.Position)
		if !errors.Is(lerr, journal.ErrNotFound) || errors.Is(err, journal.ErrFenced) {
			return call.Answer{}, err
		}
	}
	w.Commits.Fault.Pass(faultpoint.EntityAfterCommit)
	return w.Parked.Answer(c.Ref.ID(), c, reason), nil
}
