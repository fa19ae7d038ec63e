package timelimit

import (
	"context"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// A limit is counted in ticks of a part of its length, within these bounds.
const (
	ticks        = 16
	shortestTick = time.Millisecond
	longestTick  = 250 * time.Millisecond
)

// WithTimeout derives a context that ends once the process has run for d. Its cause
// (context.Cause) is then context.DeadlineExceeded.
func WithTimeout(ctx context.Context, clock clockwork.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, _, cancel := WithTimeoutEach(ctx, clock, d)
	return ctx, cancel
}

// WithTimeoutEach is WithTimeout of work that has parts. Each part for which renew is called when it begins has d for
// itself, unless the process has run for longer than d by then: so all of them together have 2d at most. Renew reports
// whether the part has.
func WithTimeoutEach(
	ctx context.Context, clock clockwork.Clock, d time.Duration,
) (_ context.Context, renew func() bool, _ context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{
		clock: clock, end: cancel, limit: d, left: d, last: clock.Now(),
		tick: max(shortestTick, min(d/ticks, longestTick)),
	}
	w.start()
	return ctx, w.renew, func() {
		w.stop()
		cancel(context.Canceled)
	}
}

// watchdog counts the ticks of one limit.
type watchdog struct {
	clock clockwork.Clock
	end   context.CancelCauseFunc
	limit time.Duration
	tick  time.Duration

	mu    sync.Mutex
	spent time.Duration   // guarded by mu; before the limit was renewed
	left  time.Duration   // guarded by mu
	last  time.Time       // guarded by mu; of the last tick
	timer clockwork.Timer // guarded by mu; nil once it is stopped
}

func (w *watchdog) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = w.clock.AfterFunc(min(w.tick, w.left), w.count)
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// renew has the limit begin anew.
func (w *watchdog) renew() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return false
	}
	w.passLocked()
	spent := w.spent + w.limit - w.left
	if spent > w.limit || w.left <= 0 {
		return false
	}
	w.spent, w.left = spent, w.limit
	return true
}

// passLocked counts the time since the last tick.
func (w *watchdog) passLocked() {
	now := w.clock.Now()
	w.left -= counted(now.Sub(w.last), min(w.tick, w.left), w.tick)
	w.last = now
}

// count takes a tick into account.
func (w *watchdog) count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	w.passLocked()
	if w.left <= 0 {
		w.timer = nil
		w.end(context.DeadlineExceeded)
		return
	}
	w.timer.Reset(min(w.tick, w.left))
}

// counted is how much of the time since the last tick counts. A tick that was to come after due, and came later than
// that by more than a tick, counts as if it had been on time.
func counted(passed, due, tick time.Duration) time.Duration {
	if passed > due+tick {
		return due
	}
	return passed
}
