package grpcserver

import (
	"context"
	"time"
)

// keptForAnswer bounds the part of a caller's time reserved for the way of the answer.
const keptForAnswer = 100 * time.Millisecond

// ahead derives the context of a call that says at its deadline whether it was accepted, or
// describes its wait. The host gives it a tenth less time than its caller does, so that its word
// still arrives.
func ahead(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	left := time.Until(deadline)
	return context.WithTimeout(ctx, left-min(left/10, keptForAnswer))
}
