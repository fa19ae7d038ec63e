package rpc

import (
	"context"
	"time"
)

// keptForAnswer is what of a caller's time is kept for the way of the answer, at most.
const keptForAnswer = 100 * time.Millisecond

// aheadOf is the time that the host gives to a call whose caller waits for d: a tenth less, so
// that what it says when the time is over, whether the call was accepted, still arrives.
func aheadOf(d time.Duration) time.Duration { return d - min(d/10, keptForAnswer) }

// ahead derives the context of a call that says at its deadline whether it was accepted.
func ahead(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, aheadOf(time.Until(deadline)))
}
