package activity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/timelimit"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Bounds of the log of an attempt.
const (
	maxLog      = 1 << 20
	logLineCost = 16 // bytes that a line costs besides its text
)

// attempt is one task being performed; if the store gets in its way, repeatedly.
type attempt struct {
	runner *Runner
	Task
	timeout time.Duration
	logged  int  // bytes of the guest's log
	called  bool // it has made a call over HTTP
	begun   bool // its code has run
	ended   bool // a transaction of it has come to its commit
}

func newAttempt(r *Runner, task Task) *attempt {
	a := &attempt{runner: r, Task: task, timeout: time.Duration(task.Body.Timeout)}
	if a.timeout <= 0 {
		a.timeout = r.Timeout
	}
	return a
}

// log is the logger of the attempt. Few attempts have anything to say.
func (a *attempt) log() *slog.Logger {
	return a.runner.Logger.With("execution", a.Row.Name(), "activity", a.Body.Name, "attempt", a.number())
}

// number counts the attempts, from 1 on.
func (a *attempt) number() uint32 { return a.Task.Failed + 1 }

// run runs the guest once. An error means that the attempt does not count and is to be repeated.
func (a *attempt) run(parent context.Context) (Report, error) {
	fx := a.effects()
	defer func() {
		a.called = fx.Called
		fx.Rollback()
	}()
	// If an error comes before the call, nothing of the activity has run. Finding, compiling and initialising its code
	// is the host's business, whatever went wrong.
	m, err := a.runner.Catalog.Module(parent, a.Row.Digest)
	if err != nil {
		return nil, err
	}
	// The answer is the run's. It may have to wait behind runs that wait for memory, so the attempt asks before it has
	// any.
	if !a.mayBegin(parent) {
		return nil, nil
	}
	inst, release, err := a.instantiate(parent, m, fx)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, cancel := timelimit.WithTimeout(parent, a.runner.Clock, a.timeout)
	defer cancel()
	a.runner.metrics.running.Inc()
	outcome, err := a.invoke(ctx, inst)
	a.runner.metrics.running.Dec()
	a.runner.metrics.fuel.WithLabelValues(a.Row.Namespace).Add(float64(inst.FuelUsed()))
	if parent.Err() != nil {
		return nil, nil
	}
	if fx.Infra != nil {
		return nil, fx.Infra
	}
	if err != nil {
		fx.Rollback()
		return a.crashed(ctx, err)
	}
	a.runner.Fault.Pass(faultpoint.ActivityAfter)
	if outcome.Error != nil {
		if outcome.Error.Code == "" {
			outcome.Error.Code = abi.CodeActivityFailed
		}
		return Failed{outcome.Error}, nil
	}
	if !fx.HasTx() {
		return Done{Outcome: *outcome, Attempts: a.number()}, nil
	}
	return a.commitTx(parent, fx, outcome.Value)
}

// effects are the effects of one run of the attempt.
func (a *attempt) effects() *effects.Effects {
	return &effects.Effects{
		Deps: effects.Deps{Clock: a.runner.Clock, Egress: a.runner.Egress, Host: a.runner.Host, Store: a.runner.Store},
		Deployment: func(ctx context.Context) (*catalog.Deployment, error) {
			name, _, _ := strings.Cut(a.Row.Workflow, "/")
			return a.runner.Catalog.Deployment(ctx, a.Row.Namespace, name)
		},
		Log: a.log, Namespace: a.Row.Namespace, Called: a.called,
	}
}

// mayBegin asks once whether the activity may run.
func (a *attempt) mayBegin(ctx context.Context) bool {
	a.begun = a.begun || a.Begin == nil || a.Begin(ctx)
	return a.begun
}

// instantiate takes an instance for the attempt, as soon as there is memory for it. It is as new, and reset afterwards:
// nothing leaks from one call into the next.
func (a *attempt) instantiate(
	ctx context.Context, m *catalog.Module, fx *effects.Effects,
) (inst *wasm.Instance, release func(), err error) {
	memory, err := a.runner.Memory.Acquire(ctx, m.Code.MemoryBytes())
	if err != nil {
		return nil, nil, err
	}
	world := a.world(fx)
	world.Memory = memory
	inst, err = m.Code.Instantiate(ctx, world)
	if err != nil {
		memory.Release()
		return nil, nil, err
	}
	return inst, func() {
		_ = inst.Close()
		memory.Release()
	}, nil
}

// invoke runs the activity.
func (a *attempt) invoke(ctx context.Context, inst *wasm.Instance) (*abi.Outcome, error) {
	now := a.runner.Clock.Now()
	t, err := inst.Start(ctx, abi.MustMarshal(&abi.Invocation{
		Kind:           abi.InvokeActivity,
		Name:           a.Body.Name,
		Body:           a.Body.Input,
		Attempt:        int(a.number()),
		IdempotencyKey: a.idempotencyKey(),
		Execution:      a.Row.Name(),
		Namespace:      a.Row.Namespace,
		Time:           now.UnixNano(),
		Deadline:       abi.DeadlineOf(now, a.timeout).UnixNano(),
	}))
	if err != nil {
		return nil, err
	}
	if t.Parked {
		return nil, abi.Errorf(abi.CodeGuestProtocol, "activity %q parked instead of finishing", a.Body.Name)
	}
	outcome, oerr := abi.DecodeResult(t.Output)
	if oerr != nil {
		return nil, oerr
	}
	return outcome, nil
}

// world is the environment of the activity: the real one, through effects.
func (a *attempt) world(fx *effects.Effects) wasm.World {
	return wasm.World{
		// The limit of the host applies, as it may have been raised for the activity's sake; but not a lower one than
		// the run was started under.
		MemoryAtLeast: int64(a.Row.Pinned.Memory),

		Fuel:   a.runner.Fuel,
		Clock:  a.runner.Clock.Now,
		Random: rand.Reader,
		Sleep: func(ctx context.Context, d time.Duration) error {
			a.runner.wait(ctx, d)
			return ctx.Err()
		},
		Log:    a.writeLog,
		Stdout: func(line []byte) { a.writeLog(abi.LogInfo, line) },
		Stderr: func(line []byte) { a.writeLog(abi.LogWarn, line) },
		Op:     refuseOp,
		Call:   fx.Call,
	}
}

func (a *attempt) writeLog(level int32, message []byte) {
	if a.logged += len(message) + logLineCost; a.logged <= maxLog {
		guestlog.Write(a.log(), level, message)
		a.runner.Followers.Log(a.Row, func() follow.Line {
			return follow.Line{
				Activity: a.Body.Name,
				Attempt:  a.number(),
				At:       a.runner.Clock.Now().UnixNano(),
				Level:    level,
				Message:  abi.LogText(message),
			}
		})
	}
}

func refuseOp(kind string, _ []byte) (uint32, *abi.Error) {
	return 0, abi.Errorf(abi.CodeWrongContext, "%s is not available in an activity", kind).
		WithHint("Return from the activity, and make durable calls in the workflow's execute.")
}

// idempotencyKey is the same for every attempt of this op, and for no other op of any run. It derives from the step's
// identity: a change of the code that inserts another step before it does not change its key.
func (a *attempt) idempotencyKey() string {
	return fmt.Sprintf("%s-%s", a.Row.Run, a.Op.Step())
}

// waitToRepeat waits before an attempt that the host or the store has failed n times is repeated. If the attempt called
// outside, it calls again: so it also waits until the store begins a transaction, since it would otherwise call just to
// be failed again.
func (a *attempt) waitToRepeat(ctx context.Context, err error, n int) {
	delay := effects.Delay(n, a.called)
	a.log().Warn("the host could not finish the attempt; repeating it", "error", err, "delay", delay)
	a.runner.wait(ctx, delay)
	for tries := 1; a.called && ctx.Err() == nil; tries++ {
		tx, err := a.runner.Store.BeginGuest(ctx, a.Row.Namespace)
		if err == nil {
			_ = tx.Rollback(ctx)
			return
		}
		a.runner.wait(ctx, effects.Delay(tries, false))
	}
}

// logConflict logs that the attempt is repeated because of others. Transactions that collide are
// everyday; a transaction that was open for too long is a fault of the activity, which its author wants to
// know of before it becomes a failure.
func (a *attempt) logConflict(err error) {
	if errors.Is(err, journal.ErrPreempted) {
		a.log().Warn(effects.RepeatsPreempted, "error", err)
		return
	}
	a.log().Debug("repeating the attempt", "error", err)
}

// crashed maps a failure of the guest to a result of the attempt. A failure of the host is returned as an error.
func (a *attempt) crashed(ctx context.Context, err error) (Report, error) {
	var coded *abi.Error
	switch {
	case ctx.Err() != nil:
		coded = abi.Errorf(
			abi.CodeActivityTimeout, "attempt %d of activity %q took longer than %v", a.number(), a.Body.Name,
			a.timeout,
		)
		if trap := (*wasm.Trap)(nil); errors.As(err, &trap) {
			coded.Message += trap.Place
		}
	case !errors.As(err, &coded) || abi.IsOfHost(coded):
		return nil, err
	case abi.IsOfGuest(coded):
		cause := coded
		coded = abi.Errorf(abi.CodeActivityCrashed, "activity %q: %s", a.Body.Name, cause.Message)
		if cause.Code != abi.CodeGuestTrap { // of a plain crash it knows no more than that it was one
			coded.Hint = cause.Hint
		}
		// Memory that this host will never have is of no use to try again for.
		coded.Retryable = cause.Code != abi.CodeGuestMemory || cause.Retryable
	}
	return Failed{coded}, nil
}

// commitTx commits the activity's SQL together with its journal entry.
func (a *attempt) commitTx(ctx context.Context, fx *effects.Effects, value []byte) (Report, error) {
	entry, wanted := a.Reserve(ctx, value, a.number())
	if !wanted {
		return Dropped{}, nil
	}
	// From here on a number is reserved: the execution must learn its fate.
	delivered, err := a.commitEntry(ctx, fx, entry)
	if errors.Is(err, journal.ErrUndecided) {
		err = a.resolveUndecided(entry)
	}
	switch {
	case err == nil:
		return Committed{entry, delivered}, nil
	case errors.Is(err, journal.ErrFenced):
		return nil, nil
	default:
		a.Void(entry.Seq)
		var coded *abi.Error
		if errors.As(err, &coded) && !abi.IsOfHost(coded) {
			return Failed{coded}, nil
		}
		return nil, err
	}
}

// commitEntry ends the transaction with the entry: together with the turn that it causes, or alone. If the commit of
// both has failed, whatever the reason, the next one is of the entry alone: it is shorter, and the turn may have been
// in the way.
func (a *attempt) commitEntry(
	ctx context.Context, fx *effects.Effects, entry journal.Entry,
) (delivered bool, err error) {
	commit := func(w journal.Write) error {
		a.runner.Fault.Pass(faultpoint.TxBeforeCommit)
		err := a.runner.Committer.CommitTx(context.WithoutCancel(ctx), fx.TakeTx(), w)
		if err == nil {
			a.runner.Fault.Pass(faultpoint.TxAfterCommit)
		}
		return err
	}
	first := !a.ended
	a.ended = true
	if first && a.Deliver != nil {
		if delivered, err := a.Deliver(entry, commit); delivered || err != nil {
			return delivered, err
		}
	}
	return false, commit(journal.Write{
		ID: a.Row.ID, Run: a.Row.Run, Chain: a.Row.Chain, Entries: []journal.Entry{entry},
	})
}

// resolveUndecided finds out whether a commit whose answer was lost took effect. A transaction cannot be repeated: so
// another entry is put in the place of its own. Once that is there the transaction cannot commit any more, and until
// then the two decide it among themselves. The execution delivers nothing meanwhile; it waits for this no longer than
// for a commit of its own. A run that has ended or is gone takes no entry, so its transaction cannot commit any more.
// It may have committed before, and have ended the run itself: the journal tells. A report to another run of the same
// name is ignored there.
func (a *attempt) resolveUndecided(entry journal.Entry) error {
	ctx := a.runner.Host.Context()
	void := journal.Write{
		ID:      a.Row.ID,
		Run:     a.Row.Run,
		Chain:   a.Row.Chain,
		Entries: []journal.Entry{{Kind: journal.Void, Seq: entry.Seq, At: entry.At, Op: entry.Op}},
	}
	took := false
	d := decide.Writer{Clock: a.runner.Clock, Commit: a.runner.Committer.Commit, Host: a.runner.Host, Logger: a.log()}
	_, err := d.Repeat(ctx, void, func(res journal.Result, refusal error) (journal.Result, error) {
		found, _, err := a.runner.Store.Entries(ctx, a.Row.RunKey(), entry.Seq-1, journal.PageLimit{Entries: 1})
		switch {
		case err != nil:
			return res, journal.ErrUndecided
		case len(found) > 0 && found[0].Seq == entry.Seq:
			took = found[0].Kind == journal.Delivery && op.Same(found[0].Op, entry.Op)
			return res, nil
		case errors.Is(refusal, journal.ErrNotFound):
			return res, nil
		default:
			return res, journal.ErrUndecided
		}
	})
	if err == nil && !took {
		return journal.ErrConflict
	}
	return err
}
