package request

import (
	"context"
	"errors"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/watch"
	"github.com/cruster/cruster/journal"
)

// Ends has callers wait for the ends of executions.
type Ends struct {
	Clock    clockwork.Clock
	Host     *hoststate.State
	Rows     Rows
	Watchers *watch.List
}

// Waiting is a caller that waits for the end of an execution. It learns of it from the moment on when it was made, also
// if the execution is not there yet.
type Waiting struct {
	ends    Ends
	ref     Ref
	told    chan *journal.Execution // capacity 1
	deleted chan struct{}           // capacity 1
	watcher *watch.Watcher
}

// Await begins to wait for the end of an execution, or for its pause. If the reference names a
// chain, the end of another chain does not count. The caller calls Stop when it is done.
func (e Ends) Await(ref Ref) *Waiting {
	w := &Waiting{ends: e, ref: ref, told: make(chan *journal.Execution, 1), deleted: make(chan struct{}, 1)}
	w.watcher = e.Watchers.AddUntilDeleted(ref.ID, func(row *journal.Execution) bool {
		if !w.isOf(row.Chain) {
			return false
		}
		select {
		case w.told <- row.Brief():
		default:
		}
		return true
	}, func(chain journal.RunID) bool {
		if !w.isOf(chain) {
			return false
		}
		select {
		case w.deleted <- struct{}{}:
		default:
		}
		return true
	})
	return w
}

// isOf tells whether the end of a chain counts.
func (w *Waiting) isOf(chain journal.RunID) bool { return w.ref.Chain.IsZero() || chain == w.ref.Chain }

// errDeleted says that an execution was deleted before anyone was told of its end.
var errDeleted = ChainGone()

// ErrWaitOver ends a wait before the execution has ended.
var ErrWaitOver = errors.New("the wait is over")

// after is a channel that ends a wait; without a bound to it there is none.
func (e Ends) after(wait time.Duration) (over <-chan time.Time, stop func()) {
	if wait <= 0 {
		return nil, func() {}
	}
	timer := e.Clock.NewTimer(wait)
	return timer.Chan(), func() { timer.Stop() }
}

// Result waits until the execution has ended or paused, and returns its brief row.
func (w *Waiting) Result(ctx context.Context) (*journal.Execution, error) { return w.result(ctx, nil) }

// ResultWithin is Result, and ErrWaitOver after a wait that is not 0.
func (w *Waiting) ResultWithin(ctx context.Context, wait time.Duration) (*journal.Execution, error) {
	over, stop := w.ends.after(wait)
	defer stop()
	return w.result(ctx, over)
}

func (w *Waiting) result(ctx context.Context, over <-chan time.Time) (*journal.Execution, error) {
	host := w.ends.Host
	select {
	case <-over:
		return nil, ErrWaitOver
	case row := <-w.told:
		return row, nil
	case <-w.deleted:
		return nil, errDeleted
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, abi.Errorf(abi.CodeDeadline, "the caller's deadline passed before %s was over", w.ref.Name).
				WithHint("It goes on, and can be waited for again. %s", message.WaitsFor(w.ref.Name))
		}
		return nil, journal.Coded("wait for "+w.ref.Name, ctx.Err())
	case <-host.Context().Done():
		return nil, host.EndReason()
	}
}

// Stop ends the waiting.
func (w *Waiting) Stop() { w.ends.Watchers.Remove(w.ref.ID, w.watcher) }

// Wait returns the brief row of an existing execution once it has ended or paused. If the reference names no chain,
// the current run counts: an earlier run may have ended before, and its callers may be told only later.
func (e Ends) Wait(ctx context.Context, ref Ref) (*journal.Execution, error) {
	return e.wait(ctx, ref, nil)
}

// WaitWithin is Wait, and ErrWaitOver after a wait that is not 0.
func (e Ends) WaitWithin(ctx context.Context, ref Ref, wait time.Duration) (*journal.Execution, error) {
	over, stop := e.after(wait)
	defer stop()
	return e.wait(ctx, ref, over)
}

func (e Ends) wait(ctx context.Context, ref Ref, over <-chan time.Time) (*journal.Execution, error) {
	w := e.Await(ref)
	defer w.Stop()
	// It may have ended before.
	row, err := e.Rows.LoadRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	if row.State != journal.Running {
		return row, nil
	}
	told, err := w.result(ctx, over)
	switch {
	case !ref.Chain.IsZero():
	case errors.Is(err, errDeleted):
		return e.wait(ctx, ref, over) // another run may have the name by now
	case err == nil && told.Chain != row.Chain:
		return e.wait(ctx, RefTo(row), over)
	}
	return told, err
}
