package entity

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/journal"
)

// StatelessCall is an operation of an entity without a state.
type StatelessCall struct {
	Operation string
	Input     []byte
	// IdempotencyKey is the same for all attempts of a call that is persisted.
	IdempotencyKey string
	// Attempt counts from 1.
	Attempt int
}

// StatelessRan is the result of an operation of a stateless entity.
type StatelessRan struct {
	abi.Outcome
	// Tx is the transaction with its statements, to be committed with the outcome; nil if it
	// used no SQL.
	Tx journal.GuestTx
}

// maxCollisions is how often a call is repeated at once because its transaction collided
// with others.
const maxCollisions = 25

// callStateless performs a call of an entity without a state.
func (x *Entities) callStateless(c *call) callDone {
	done := callDone{call: c}
	err := guarded(func() (err error) {
		for n := 1; ; n++ {
			c.attempts++
			done.answer, err = x.attempt(journal.AfterConflicts(x.Host.Context(), n-1), c)
			if !errors.Is(err, journal.ErrConflict) || n >= maxCollisions || x.Host.Over() {
				return err
			}
			if errors.Is(err, journal.ErrPreempted) {
				x.Logger.Warn(effects.RepeatsPreempted, "entity", c.ref.String(), "operation", c.operation, "error", err)
			}
			x.wait(min(time.Duration(n)*5*time.Millisecond, 200*time.Millisecond))
		}
	})
	var fault *hostfault.Fault
	if errors.As(err, &fault) {
		x.report(c.ref.ID(), fault)
	}
	if err != nil {
		reason := abi.AsError(journal.Coded("call "+c.ref.String(), err))
		done.answer, done.unanswered = answer{err: reason}, c.position != 0
		if done.unanswered && !abi.IsTransient(reason) {
			x.tryLess(&done, reason)
		}
	}
	return done
}

// tryLess counts an attempt of a message that failed for a reason which does not pass, and ends it after
// many: until then it holds up the messages behind it.
func (x *Entities) tryLess(done *callDone, reason *abi.Error) {
	c := done.call
	if c.misfits++; c.misfits < maxMisfits || x.Host.Over() {
		return
	}
	var ended answer
	err := guarded(func() (err error) {
		ended, err = x.parkOrFail(c, reason)
		return err
	})
	if err != nil {
		x.Logger.Warn("a message that cannot be performed could not be parked; trying again", "entity", c.ref.String(), "operation", c.operation, "error", err)
		return
	}
	done.answer, done.unanswered = ended, false
}

// parkOrFail ends a call that cannot be performed: a message is parked, and a call has failed, also
// if its caller is gone.
func (x *Entities) parkOrFail(c *call, reason *abi.Error) (answer, error) {
	if c.sent {
		return x.parkCall(c, reason)
	}
	return x.conclude(context.Background(), c, abi.Outcome{Error: reason}, nil)
}

// attempt runs a call once, and makes its effects durable. An error means that the call is
// repeated, if it may be.
func (x *Entities) attempt(ctx context.Context, c *call) (answer, error) {
	outcome, tx, err := x.runStateless(ctx, c)
	var unperformed *notPerformed
	switch {
	case errors.As(err, &unperformed):
		return x.parkOrFail(c, unperformed.reason)
	case err != nil:
		return answer{}, err
	}
	return x.conclude(ctx, c, outcome, tx)
}

// conclude makes the outcome of a call durable, with its transaction if it has one.
func (x *Entities) conclude(ctx context.Context, c *call, outcome abi.Outcome, tx journal.GuestTx) (_ answer, err error) {
	w := statelessWrite(c, outcome, x.now())
	if tx == nil && isEmpty(&w) {
		return answer{outcome: outcome}, nil
	}
	x.Fault.Pass(faultpoint.EntityBeforeCommit)
	if tx != nil {
		err = x.Transactions.CommitTx(context.WithoutCancel(ctx), tx, w)
	} else {
		_, err = x.Committer.Commit(w)
	}
	x.metrics.commits.WithLabelValues(metric.Result(err)).Inc()
	if err != nil {
		if outcome, err = x.afterFailure(c, err); err == nil {
			x.tellCallers(&w)
		}
		return answer{outcome: outcome}, err
	}
	x.Fault.Pass(faultpoint.EntityAfterCommit)
	x.tellCallers(&w)
	return answer{outcome: outcome}, nil
}

// notPerformed is the error of an operation that came to no outcome of its own.
type notPerformed struct{ reason *abi.Error }

// Error implements error.
func (n *notPerformed) Error() string { return n.reason.Error() }

// afterFailure finds the meaning of a failed commit. A persisted call has a receipt if it, or an
// earlier attempt whose answer was lost, took effect; if it leaves none its message is gone. If not
// it is repeated, and only one of the two can take the message.
func (x *Entities) afterFailure(c *call, err error) (abi.Outcome, error) {
	if c.position == 0 || errors.Is(err, journal.ErrFenced) {
		return abi.Outcome{}, err
	}
	if !c.leavesReceipt() {
		if _, lerr := x.Store.Message(x.Host.Context(), journal.Receiver{ID: c.ref.ID()}, c.position); errors.Is(lerr, journal.ErrNotFound) {
			return abi.Outcome{Value: abi.Nil}, nil
		}
		return abi.Outcome{}, err
	}
	receipt, lerr := x.Store.Receipt(x.Host.Context(), c.ref.ID(), c.origin)
	if lerr != nil {
		return abi.Outcome{}, err
	}
	return abi.Outcome{Value: receipt.Value, Error: receipt.Error}, nil
}

// statelessWrite is what becomes durable with the outcome of a call.
func statelessWrite(c *call, o abi.Outcome, now int64) journal.Write {
	w := journal.Write{ID: c.ref.ID()}
	if c.position != 0 {
		w.Take = []uint64{c.position}
		if c.leavesReceipt() {
			w.Receipts = []journal.Receipt{{Origin: c.origin, From: c.from, At: now, Value: o.Value, Error: o.Error}}
		}
		w.Send = c.answerTo(w.ID, o, now)
	}
	return w
}

// runStateless runs the code of a call. A failure of the code is an outcome, or [notPerformed], and has
// no transaction.
func (x *Entities) runStateless(ctx context.Context, c *call) (abi.Outcome, journal.GuestTx, error) {
	if c.damaged != nil {
		return abi.Outcome{}, nil, &notPerformed{c.damaged}
	}
	t, err := x.target(ctx, c.ref)
	if err != nil {
		return abi.Outcome{}, nil, err
	}
	if _, err := t.Type.Operation(c.operation); err != nil {
		return abi.Outcome{}, nil, &notPerformed{abi.AsError(err)}
	}
	call := StatelessCall{Operation: c.operation, Input: c.input, Attempt: c.attempts}
	if c.position != 0 {
		key := cmp.Or(c.origin, c.message)
		call.IdempotencyKey = hex.EncodeToString(key[:])
	}
	ran, err := x.Guests.Call(ctx, t, call)
	switch {
	case err != nil && isOfGuest(err):
		x.metrics.crashes.Inc()
		failure := crashed(c, err)
		x.logCrash(c, failure)
		return abi.Outcome{}, nil, &notPerformed{failure}
	case err != nil:
		return abi.Outcome{}, nil, err
	case ran.Error != nil:
		if ran.Tx != nil {
			_ = ran.Tx.Rollback(context.WithoutCancel(ctx))
		}
		failure := *ran.Error
		failure.Clamp()
		failure.Code = cmp.Or(failure.Code, abi.CodeOperationFailed)
		if failure.Code == abi.CodeOperationCrashed { // the guest has recovered from it
			x.logCrash(c, &failure)
		}
		if isUnperformed(&failure) {
			return abi.Outcome{}, nil, &notPerformed{&failure}
		}
		return abi.Outcome{Error: &failure}, nil, nil
	}
	return ran.Outcome, ran.Tx, nil
}
