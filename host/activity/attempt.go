package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// conflictLimit is how often an activity is repeated because its transaction
// collided with others, before that counts as a failed attempt.
const conflictLimit = 25

// activity is one activity op being performed.
type activity struct {
	eng    *Engine
	run    *run
	row    *journal.Execution
	op     journal.Op
	body   *abi.Activity
	failed uint32 // attempts before this one
	log    *slog.Logger
	logged int // bytes of the guest's log
}

// maxActivityLog bounds the log of an attempt.
const maxActivityLog = 1 << 20

func (a *activity) writeLog(level int32, message []byte) {
	if a.logged += len(message) + 16; a.logged <= maxActivityLog {
		a.log.Log(context.Background(), slog.Level(level), string(message))
	}
}

// performActivity runs one attempt of an activity and posts what came of it. If
// ctx ends first then nobody waits any more, or the host goes down and the
// attempt will be repeated: it posts nothing, unless a transaction was
// committed. The run holds everything else up until it has heard of that.
func (e *Engine) performActivity(ctx context.Context, r *run, row *journal.Execution, o journal.Op, body *abi.Activity, failed uint32) {
	if err := e.activities.Acquire(ctx, 1); err != nil {
		return
	}
	defer e.activities.Release(1)
	if e.draining.Load() {
		return
	}
	a := &activity{
		eng: e, run: r, row: row, op: o, body: body, failed: failed,
		log: e.log.With("execution", row.Name(), "activity", body.Name, "attempt", failed+1),
	}
	e.fault(FaultActivityBefore)
	for conflicts, failures := 0, 0; ctx.Err() == nil; {
		mail, err := a.attempt(ctx)
		switch {
		case err == nil:
			if _, durable := mail.(committedMail); durable || mail != nil && ctx.Err() == nil {
				e.metrics.observeAttempt(mail)
				e.post(r.id, mail)
			}
			return
		case e.draining.Load():
			return // it is repeated by whoever comes next
		case !errors.Is(err, journal.ErrConflict):
			// The store is to blame, not the activity.
			failures++
			a.log.Warn("repeating the attempt", "error", err)
			wait(ctx, min(time.Duration(failures)*20*time.Millisecond, 5*time.Second))
		case conflicts < conflictLimit:
			conflicts++
			a.log.Debug("repeating the attempt", "error", err)
			wait(ctx, jittered(conflicts))
		default:
			e.post(r.id, failedMail{op: o.Number, err: abi.Errorf(abi.CodeTxConflict, "activity %q: %v, %d times in a row", body.Name, err, conflicts)})
			return
		}
	}
}

func jittered(n int) time.Duration {
	most := min(time.Duration(n)*5*time.Millisecond, 200*time.Millisecond)
	return time.Duration(randomFraction() * float64(most))
}

// attempt runs the guest once. An error means that the attempt does not count
// and is to be repeated.
func (a *activity) attempt(parent context.Context) (event, error) {
	timeout := time.Duration(a.body.Timeout)
	if timeout <= 0 {
		timeout = a.eng.cfg.ActivityTimeout
	}
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	fx := &effects{eng: a.eng, row: a.row}
	defer fx.rollback()
	outcome, err := a.runGuest(ctx, fx)
	if parent.Err() != nil {
		return nil, nil
	}
	if fx.infra != nil {
		return nil, fx.infra
	}
	if err != nil {
		fx.rollback()
		return a.crashed(ctx, err, timeout)
	}
	a.eng.fault(FaultActivityAfter)
	if outcome.Error != nil {
		if outcome.Error.Code == "" {
			outcome.Error.Code = abi.CodeActivityFailed
		}
		return failedMail{op: a.op.Number, err: outcome.Error}, nil
	}
	if fx.tx == nil {
		return doneMail{op: a.op.Number, attempts: a.failed + 1, outcome: *outcome}, nil
	}
	return a.commitTx(parent, fx, outcome.Value)
}

// runGuest runs the activity in an instance of its own, thrown away afterwards:
// nothing leaks from one call into the next.
func (a *activity) runGuest(ctx context.Context, fx *effects) (*abi.Outcome, error) {
	m, err := a.eng.modules.get(ctx, a.row.Digest)
	if err != nil {
		return nil, err
	}
	inst, err := m.code.Instantiate(ctx, wasm.World{
		Clock:  time.Now,
		Random: rand.Reader,
		Sleep:  sleepContext,
		Log:    a.writeLog,
		Stdout: func(line []byte) { a.writeLog(abi.LogInfo, line) },
		Stderr: func(line []byte) { a.writeLog(abi.LogWarn, line) },
		Op:     refuseInActivity,
		Call:   fx.call,
	})
	if err != nil {
		return nil, err
	}
	defer inst.Close()
	t, err := inst.Start(ctx, abi.MustMarshal(&abi.Invocation{
		Kind: abi.InvokeActivity, Name: a.body.Name, Body: a.body.Input,
		Attempt: int(a.failed) + 1, IdempotencyKey: a.idempotencyKey(),
		Execution: a.row.Name(), Namespace: a.row.Namespace, Time: a.eng.now().UnixNano(),
	}))
	if err != nil {
		return nil, err
	}
	if t.Parked {
		return nil, abi.Errorf(abi.CodeGuestProtocol, "activity %q parked instead of finishing", a.body.Name)
	}
	outcome, oerr := decodeOutcome(t.Output)
	if oerr != nil {
		return nil, oerr
	}
	return outcome, nil
}

// idempotencyKey is the same for every attempt of this op, and for no other op.
func (a *activity) idempotencyKey() string {
	return fmt.Sprintf("%s-%d", a.row.ID, a.op.Number)
}

func refuseInActivity(kind string, _ []byte) (uint32, *abi.Error) {
	return 0, abi.Errorf(abi.CodeWrongContext, "%s is not available in an activity", kind).
		WithHint("Durable calls belong into the workflow's execute; return from the activity and call them there.")
}

func sleepContext(ctx context.Context, d time.Duration) error {
	wait(ctx, d)
	return ctx.Err()
}

// crashed tells what a failure of the guest means for the attempt.
func (a *activity) crashed(ctx context.Context, err error, timeout time.Duration) (event, error) {
	var coded *abi.Error
	if !errors.As(err, &coded) {
		return nil, err
	}
	switch {
	case ctx.Err() != nil:
		coded = abi.Errorf(abi.CodeActivityTimeout, "attempt %d of activity %q took longer than %v", a.failed+1, a.body.Name, timeout)
	case coded.Code == abi.CodeStore || coded.Code == abi.CodeModuleNotFound:
		return nil, err
	case strings.HasPrefix(string(coded.Code), "CR-4"):
		hint := coded.Hint
		coded = abi.Errorf(abi.CodeActivityCrashed, "activity %q: %s", a.body.Name, coded.Message).WithHint("%s", hint)
	}
	return failedMail{op: a.op.Number, err: coded}, nil
}

// commitTx commits the activity's SQL together with its journal entry.
func (a *activity) commitTx(ctx context.Context, fx *effects, value []byte) (event, error) {
	entry, wanted := a.run.reserve(ctx, a.op.Number, value, a.failed+1)
	if !wanted {
		return droppedMail{op: a.op.Number}, nil
	}
	a.eng.fault(FaultTxBeforeCommit)
	// From here on a number is reserved: whatever happens the run must hear.
	err := fx.tx.Commit(context.WithoutCancel(ctx), journal.Write{
		ID: a.row.ID, Epoch: a.eng.ownership.Epoch(a.row.ID.Shard()), Entries: []journal.Entry{entry},
	})
	fx.tx = nil
	a.eng.metrics.observeTx(err)
	if errors.Is(err, journal.ErrUndecided) {
		err = a.lookUp(entry)
	}
	switch {
	case err == nil:
		a.eng.fault(FaultTxAfterCommit)
		return committedMail{entry: entry}, nil
	case errors.Is(err, journal.ErrFenced):
		a.eng.fenced()
		return nil, nil
	default:
		a.eng.post(a.row.ID, voidMail{seq: entry.Seq})
		var coded *abi.Error
		if errors.As(err, &coded) {
			return failedMail{op: a.op.Number, err: coded}, nil
		}
		return nil, err
	}
}

// lookUp finds out whether a commit whose answer was lost took effect: its
// entry is in the journal or it is not. It asks until the store answers or the
// engine ends.
func (a *activity) lookUp(entry journal.Entry) error {
	for delay := 20 * time.Millisecond; a.eng.ctx.Err() == nil; delay = min(2*delay, 5*time.Second) {
		found, err := a.eng.store.Entries(a.eng.ctx, a.row.ID, entry.Seq-1, 1)
		if err == nil {
			if len(found) == 1 && found[0].Seq == entry.Seq && sameOp(found[0].Op, entry.Op) {
				return nil
			}
			return journal.ErrConflict
		}
		a.log.Warn("looking up a commit failed; trying again", "error", err)
		wait(a.eng.ctx, delay)
	}
	return a.eng.ctx.Err()
}
