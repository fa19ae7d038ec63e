package cruster

import (
	"cmp"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Client calls another workflow, which runs as a separate execution. Get one from [Workflow.Client], or from
// [RemoteWorkflow] for a workflow of another deployment.
type Client[Req, Res any] struct {
	workflow string
	key      string
	mode     string
	onCancel OnCancel
}

// OnCancel is the fate of a workflow started by [Client.Execute] or [Client.Go] when its caller
// does not wait for it any more: the call was cancelled, or the caller has ended, however it ended.
// A workflow that was running under its key already is left alone.
type OnCancel string

const (
	// CancelChild asks it to stop, as an interrupt does: it cleans up. That is the default. The caller does not wait
	// for it.
	CancelChild OnCancel = abi.OnCancelCancel
	// TerminateChild ends it at once, as interrupted, with the code CR-2046. Its cleanup does not run.
	TerminateChild OnCancel = abi.OnCancelTerminate
	// AbandonChild lets it go on.
	AbandonChild OnCancel = abi.OnCancelAbandon
)

// RemoteWorkflow is the client of a workflow by its name: "deployment/Name" for a workflow of
// another module, or "Name" for one of this module. A workflow that calls itself needs the latter:
// Go refuses a function that refers to the variable it is part of.
func RemoteWorkflow[Req, Res any](name string) Client[Req, Res] {
	return Client[Req, Res]{workflow: name}
}

// WithKey uses the SHA-256 of key as the idempotency key instead of the key derived from the
// request.
func (c Client[Req, Res]) WithKey(key string) Client[Req, Res] {
	c.key, c.mode = key, abi.KeyHashed
	return c
}

// WithKeyRaw uses key itself as the idempotency key.
func (c Client[Req, Res]) WithKeyRaw(key string) Client[Req, Res] {
	c.key, c.mode = key, abi.KeyRaw
	return c
}

// OnCancel sets the fate of the workflow when its caller gives up waiting for it:
//
//	report := Report.Client().OnCancel(cruster.AbandonChild).Go(ctx, month)
//
// Defaults to [CancelChild].
func (c Client[Req, Res]) OnCancel(policy OnCancel) Client[Req, Res] {
	c.onCancel = policy
	return c
}

// Execute runs the workflow and waits for its result. If an execution with the same key exists, Execute waits for that
// one.
func (c Client[Req, Res]) Execute(ctx Context, req Req) (Res, error) {
	return c.Go(ctx, req).Await(ctx)
}

// Go runs the workflow; the future is its result. If the caller ends before that, the workflow is
// given up: see [OnCancel]. To leave it on its own from the beginning, use [Client.Start].
func (c Client[Req, Res]) Go(ctx Context, req Req) Future[Res] {
	return Future[Res]{p: c.issue(ctx, &opCall, req)}
}

// Start starts the workflow and returns the id of its execution as soon as the start is durable.
func (c Client[Req, Res]) Start(ctx Context, req Req) (string, error) {
	return Future[string]{p: c.issue(ctx, &opSend, req)}.Await(ctx)
}

// StartFrom has an operation of an entity start the workflow: once the new state of the entity is durable, and not at
// all if the operation fails.
func (c Client[Req, Res]) StartFrom(ctx *EntityContext, req Req) error {
	input, err := encode("the request of workflow ", c.workflow, req)
	if err != nil {
		return err
	}
	ctx.run.Started = append(ctx.run.Started, abi.Call{Input: input, Key: c.key, KeyMode: c.mode, Workflow: c.workflow})
	return nil
}

func (c Client[Req, Res]) issue(ctx Context, op *guest.Call, req Req) *guest.Promise {
	what := guest.Label{Kind: "workflow", Name: c.workflow}
	input, err := encode("the request of workflow ", c.workflow, req)
	if err != nil {
		return ctx.scope.Failed(what, err)
	}
	call := abi.Call{Input: input, Key: c.key, KeyMode: c.mode, Workflow: c.workflow}
	if op == &opCall {
		call.OnCancel = string(cmp.Or(c.onCancel, CancelChild))
	}
	return ctx.scope.Issue(op, what, guest.EncodeBody(call))
}

// Interrupt asks an execution to stop, and returns when that is durable. The execution cleans up
// in its own time. To wait for that, shield the wait for its result, or start it with
// [Client.Start], interrupt it and wait for it with Execute under its key:
//
//	err := client.Interrupt(ctx, id, "out of stock")
//	_, err = client.WithKeyRaw(key).Execute(ctx, req) // its result, or that it was interrupted
//
// Asking again has no effect and is no error. For an execution that ended before the first request,
// the error has the code CR-2012.
func (c Client[Req, Res]) Interrupt(ctx Context, executionID, reason string) error {
	what := guest.Label{Kind: "interrupt of", Name: executionID}
	body := guest.EncodeBody(abi.Interrupt{Execution: executionID, Reason: reason})
	_, err := Future[None]{p: ctx.scope.Issue(&opInterrupt, what, body)}.Await(ctx)
	return err
}

// Status is the state of an execution as seen by [Client.Poll].
type Status[Res any] struct {
	// State is the host's name for the state: "running", "completed", …
	State string
	// Done tells whether the execution has ended; Result or Err is set if so.
	Done   bool
	Result Res
	Err    error
}

// Poll looks at an execution without waiting for its end.
func (c Client[Req, Res]) Poll(ctx Context, executionID string) (Status[Res], error) {
	var out Status[Res]
	what := guest.Label{Kind: "poll of", Name: executionID}
	asked := Future[abi.PollReply]{
		p: ctx.scope.Issue(&opPoll, what, guest.EncodeBody(abi.Poll{Execution: executionID})),
	}
	reply, err := asked.Await(ctx)
	if err != nil {
		return out, err
	}
	out.State = reply.State
	if reply.Outcome == nil {
		return out, nil
	}
	out.Done = true
	if reply.Outcome.Error != nil {
		out.Err = reply.Outcome.Error
		return out, nil
	}
	if out.Result, err = decode[Res](reply.Outcome.Value); err != nil {
		return out, asked.p.Unreadable(err)
	}
	return out, nil
}
