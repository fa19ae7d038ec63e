package client

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/cruster/cruster/abi"
)

// hadByHost is how long a try has to take for it to be known that a host had the call. A host, or
// a proxy in front of it, that can do nothing with a call says so sooner.
const hadByHost = 10 * time.Second

// A budget bounds for how long one call is without a host: waits for a connection, and is repeated.
// It is used up by waiting, and from the first failure on; not by a first try that takes its time.
// When a host has had the call, it is whole again: a call that waits for days outlives any number
// of restarts, and a call that is refused, at once or after a while, does not.
type budget struct {
	whole time.Duration
	spare time.Duration // before the first failure
	end   time.Time     // zero before the first failure
	told  bool
	waits func(forAtMost time.Duration) // may be nil
}

func (r retrier) newBudget() budget { return budget{whole: r.budget, spare: r.budget, waits: r.waits} }

type budgetKey struct{}

// withBudget passes the budget of a call to the interceptors behind the retrier.
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

// refill makes the budget whole again if a try took so long that a host had the call, and reports
// whether it did.
func (b *budget) refill(took time.Duration) bool {
	if took < hadByHost {
		return false
	}
	b.spare, b.end, b.told = b.whole, time.Time{}, false
	return true
}

// awaitConnection waits for a connection before a call that may be made only once, or that is
// marked if it may have arrived: a call that was never sent is safe to send later, and nothing else
// tells whether it was. A repetition waits as well: its time from then on is not time without a
// host. It gives up with the budget or with ctx; the call is made all the same then, and its error
// says why there is no connection. The error of a deadline would not, so that it is returned here.
func (b *budget) awaitConnection(ctx context.Context, cc *grpc.ClientConn) error {
	left := b.left()
	if left <= 0 || cc.GetState() == connectivity.Ready {
		return nil
	}
	begun := time.Now()
	defer func() { b.spare -= time.Since(begun) }() // of no matter behind a failure
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
			return abi.Errorf(
				abi.CodeUnreachable,
				"no host answers: the deadline passed before there was a connection; it was not sent",
			)
		}
		return nil
	}
}
