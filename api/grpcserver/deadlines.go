package grpcserver

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
)

// maxWait bounds the wait of one call.
const maxWait = time.Hour

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

// waitOf is the wait that a request asks for, or the default if it asks for none.
func waitOf(asked *durationpb.Duration, byDefault time.Duration) (time.Duration, error) {
	if asked == nil {
		return byDefault, nil
	}
	if err := asked.CheckValid(); err != nil || asked.AsDuration() < 0 {
		return 0, abi.Errorf(abi.CodeBadRequest, "the wait of a request is a duration of 0 or more")
	}
	return min(asked.AsDuration(), maxWait), nil
}
