package execution

import (
	"context"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
)

// Operator has executions do as an operator asks. Their runs perform each request between two turns.
type Operator struct {
	messages *request.Sender
	runs     asker
}

// Resume lets a paused execution go on.
func (o *Operator) Resume(ctx context.Context, ref request.Ref) error {
	return o.runs.ask(ctx, ref, func(reply chan<- error) notice { return resumeRequest{reply} })
}

// ResumeToStop asks an execution to stop, and lets it go on for that if it is paused. It returns once that is
// durable; the execution then runs its cleanup. A journal at its limit has room for that.
// The request comes first: a paused execution takes no step that it would not take when it is asked to stop.
func (o *Operator) ResumeToStop(ctx context.Context, ref request.Ref, reason string) error {
	if err := o.messages.Interrupt(ctx, ref, reason); err != nil {
		return err
	}
	err := o.Resume(ctx, ref)
	if abi.CodeOf(err) == abi.CodeNotPaused {
		return nil
	}
	return err
}

// Fail ends a paused execution for good. Its guest does not run again, so that it works whatever keeps the guest from
// running. It returns once the failure is durable.
func (o *Operator) Fail(ctx context.Context, ref request.Ref, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return abi.Errorf(
			abi.CodeBadRequest,
			"the reason is empty: callers that wait for the result are told why it will never be there",
		)
	}
	reason, err := request.CheckReason(reason)
	if err != nil {
		return err
	}
	at := o.runs.deps.now()
	return o.runs.ask(ctx, ref, func(reply chan<- error) notice { return failRequest{reason, at, reply} })
}

// Move has an execution go on with another module, given by its digest, if its journal fits. It returns once that is
// durable.
func (o *Operator) Move(ctx context.Context, ref request.Ref, digest string) error {
	return o.runs.ask(ctx, ref, func(reply chan<- error) notice { return moveRequest{digest, reply} })
}
