package client

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/cruster/cruster/abi"
)

// A budget bounds for how long one call is without a host: waits for a connection, and is
// repeated. It is used up by waiting, and from the first failure on; not by a first try that takes
// its time. While a host has the call, the budget fills again, as fast as it is used up without
// one: a call that waits for days outlives any number of restarts, and one that is refused at once
// by whatever is there does not.
type budget struct {
	whole time.Duration
	spare time.Duration // before the first failure
	end   time.Time     // zero before the first failure
	told  bool
	waits func(forAtMost time.Duration) // may be nil
}

func (r retrier) newBudget() budget { return budget{whole: r.budget, spare: r.budget, waits: r.waits} }

type budgetKey struct{}

// withBudget has those behind the retrier know the budget of a call.
func withBudget(ctx context.Context, b *budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// budgetOf is the budget of a call; an empty one if it is not known.
func budgetOf(ctx context.Context) *budget {
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok {
		return b
	}
	return &budget{}
}

// tellWaiting says that there is no host, once until it is full again.
func (b *budget) tellWaiting() {
	if left := b.left(); b.waits != nil && left > 0 && !b.told {
		b.waits(left)
	}
	b.told = true
}

// isBegun tells whether there was a failure.
func (b *budget) isBegun() bool { return !b.end.IsZero() }

// left is for how long a call may go on without a host.
func (b *budget) left() time.Duration {
	if b.isBegun() {
		return time.Until(b.end)
	}
	return b.spare
}

// start begins the repetitions, unless they have begun, and returns their deadline.
func (b *budget) start() time.Time {
	if !b.isBegun() {
		b.end = time.Now().Add(b.spare)
	}
	return b.end
}

// refill gives back what a try has earned that a host had for a time: the time itself, which is
// not used up, and as much of what was used up before. It reports whether the budget is whole again.
func (b *budget) refill(had time.Duration) bool {
	if !b.isBegun() {
		b.spare = min(b.whole, b.spare+had)
		return b.spare == b.whole
	}
	full := time.Now().Add(b.whole)
	if b.end = b.end.Add(2 * had); b.end.Before(full) {
		return false
	}
	b.end, b.told = full, false
	return true
}

// awaitConnection waits for a connection before a call that may be made only once, or that is
// marked if it may have arrived: what was never sent is safe to send later, and nothing else
// tells whether it was. A repetition waits as well: what it takes from then on is the host's time.
// It gives up with the budget or with ctx; the call is made all the same then, and its error says
// why there is no connection. The error of a deadline would not, so that it is returned here.
func (b *budget) awaitConnection(ctx context.Context, cc *grpc.ClientConn) error {
	left := b.left()
	if left <= 0 || cc.GetState() == connectivity.Ready {
		return nil
	}
	begun := time.Now()
	defer func() { b.spare -= time.Since(begun) }() // of no matter once there was a failure
	wait, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	for {
		cc.Connect() // an idle connection stays so until it is asked for
		state := cc.GetState()
		if state == connectivity.Ready || state == connectivity.Shutdown {
			return nil
		}
		if state == connectivity.TransientFailure {
			b.tellWaiting()
		}
		if cc.WaitForStateChange(wait, state) {
			continue
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return abi.Errorf(abi.CodeUnreachable, "no host answers: the deadline passed before there was a connection; it was not sent")
		}
		return nil
	}
}
