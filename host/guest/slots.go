package guest

import (
	"context"
	"runtime"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/host/timelimit"
)

// Slots bounds how many guests compute at the same time, and for how long each may. Time during which the host did not
// run does not count.
type Slots struct {
	clock   clockwork.Clock
	sem     *semaphore.Weighted
	timeout time.Duration
}

// NewSlots has room for twice as many guests as there are processors: native guest code occupies a thread of Go's
// scheduler, so more would only queue inside it.
func NewSlots(clock clockwork.Clock, timeout time.Duration) *Slots {
	return &Slots{clock: clock, sem: semaphore.NewWeighted(int64(2 * runtime.GOMAXPROCS(0))), timeout: timeout}
}

// Compute waits for a slot and lets a guest compute, within the limit of time.
func (s *Slots) Compute(ctx context.Context, compute func(context.Context) error) error {
	return s.ComputeFor(ctx, s.timeout, compute)
}

// ComputeFor is Compute with a limit of time of its own, if that is shorter.
func (s *Slots) ComputeFor(ctx context.Context, timeout time.Duration, compute func(context.Context) error) error {
	if err := s.sem.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.sem.Release(1)
	ctx, cancel := timelimit.WithTimeout(ctx, s.clock, min(timeout, s.timeout))
	defer cancel()
	return compute(ctx)
}

// ComputeEach is Compute with a limit for each part of the work: see [timelimit.WithTimeoutEach].
func (s *Slots) ComputeEach(ctx context.Context, compute func(ctx context.Context, renew func() bool) error) error {
	if err := s.sem.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.sem.Release(1)
	ctx, renew, cancel := timelimit.WithTimeoutEach(ctx, s.clock, s.timeout)
	defer cancel()
	return compute(ctx, renew)
}

// TryCompute lets a guest compute if there is a slot at once, within a limit of time of its own. It reports whether the
// guest did.
func (s *Slots) TryCompute(
	ctx context.Context, timeout time.Duration, compute func(context.Context) error,
) (computed bool, err error) {
	if !s.sem.TryAcquire(1) {
		return false, nil
	}
	defer s.sem.Release(1)
	ctx, cancel := timelimit.WithTimeout(ctx, s.clock, min(timeout, s.timeout))
	defer cancel()
	return true, compute(ctx)
}
