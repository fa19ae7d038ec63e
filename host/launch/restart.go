package launch

import (
	"context"

	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/journal"
)

// RestartRequest says how to run a finished execution again.
type RestartRequest struct {
	// Input is one msgpack value; nil means the input of the finished run.
	Input []byte
	// To is the module, as in Move; empty means [program.Latest].
	To string
	// RequestID makes it safe to repeat the request: the same one starts one run, for as long as that is kept. Empty
	// means that it is not repeated.
	RequestID string
}

// Restart starts a new run of a finished execution, under the same key. If another caller is
// faster, it returns that one's run, and existed is true.
func (l *Launcher) Restart(
	ctx context.Context, namespace, name string, req RestartRequest,
) (row *journal.Execution, existed bool, err error) {
	request, err := message.StartOriginOf(req.RequestID)
	if err != nil {
		return nil, false, err
	}
	if err := l.accept(); err != nil {
		return nil, false, err
	}
	over, err := l.deps.Observer.Poll(ctx, namespace, name)
	if err != nil {
		return nil, false, err
	}
	mine := &journal.Execution{ID: over.ID, Request: request}
	if row, err = l.deps.Executions.Starter.Requested(ctx, mine); err != nil || row != nil {
		return row, true, err
	}
	if !over.State.Final() {
		return nil, false, observe.NotOver(over)
	}
	if req.To == "" {
		req.To = program.Latest
	}
	next := l.deps.Programs.NewRun(over.Namespace, over.Workflow, over.Key, request)
	if next.Digest, err = l.deps.Programs.ModuleFor(ctx, over, req.To); err != nil {
		return nil, false, err
	}
	workflow, err := l.deps.Programs.Workflow(ctx, next)
	if err != nil {
		return nil, false, err
	}
	release := func() {}
	if req.Input == nil {
		if req.Input, release, err = l.deps.Executions.Starter.ReadInput(ctx, over); err != nil {
			return nil, false, err
		}
	}
	next.Input, err = workflow.CheckRequest(req.Input)
	release()
	if err != nil {
		return nil, false, err
	}
	existed, err = l.deps.Executions.Starter.StartOver(ctx, next, over.Run, nil)
	if err != nil || !existed {
		return next, false, err
	}
	row, err = l.deps.Observer.Poll(ctx, namespace, name)
	return row, true, err
}
