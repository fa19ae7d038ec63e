package execution

import (
	"context"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Ref names an execution: by its id, and in the words of the caller.
type Ref struct {
	ID   journal.ID
	Name string
}

// RefOf finds the id of an execution by its namespace and its name,
// "deployment/Workflow/key".
func RefOf(namespace, name string) (Ref, error) {
	workflow, key, ok := journal.ParseName(name)
	if !ok {
		return Ref{}, abi.Errorf(abi.CodeExecutionNotFound, "%.300q does not name an execution", name)
	}
	return Ref{ID: journal.IDOf(namespace, workflow, key), Name: name}, nil
}

// Load reads the row of an execution.
func (x *Executions) Load(ctx context.Context, ref Ref) (*journal.Execution, error) {
	row, err := x.Store.Load(ctx, ref.ID)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %.300q", ref.Name)
	}
	if err != nil {
		return nil, journal.Coded("load "+ref.Name, err)
	}
	return row, nil
}

// Settle resolves (Value) or rejects (Error) a deferred of an execution. It returns
// once that is durable; if the deferred was settled before, the first settlement
// stands and the error says so. A settlement that names its time (At) may be
// repeated: the same one is not another.
func (x *Executions) Settle(ctx context.Context, ref Ref, d journal.Deferred) error {
	if err := abi.CheckName("deferred", d.Name); err != nil {
		return abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	if d.Error == nil {
		if err := abi.CheckPayload("the value", d.Value); err != nil {
			return err
		}
		d.Value, _ = abi.Canonical(d.Value)
	} else {
		d.Value = nil
		d.Error.Clamp()
		if d.Error.Code == "" {
			d.Error.Code = abi.CodeDeferredRejected
		}
	}
	if d.At == 0 {
		d.At = x.now()
	}
	return x.ask(ctx, ref, func(reply chan<- error) message { return settleRequest{d, reply} })
}

// Interrupt asks an execution to stop. It returns once the request is durable; the
// execution then runs its cleanup.
func (x *Executions) Interrupt(ctx context.Context, ref Ref, reason string) error {
	reason, err := checkReason(reason)
	if err != nil {
		return err
	}
	i := journal.Interrupt{At: x.now(), Reason: reason}
	return x.ask(ctx, ref, func(reply chan<- error) message { return interruptRequest{i, reply} })
}

// Resume lets a paused execution go on.
func (x *Executions) Resume(ctx context.Context, ref Ref) error {
	return x.ask(ctx, ref, func(reply chan<- error) message { return resumeRequest{reply} })
}

// Fail ends a paused execution for good. Its guest does not run again, so that it
// works whatever keeps the guest from running. It returns once the failure is
// durable.
func (x *Executions) Fail(ctx context.Context, ref Ref, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return abi.Errorf(abi.CodeBadRequest, "the reason is empty: callers that wait for the result are told why it will never be there")
	}
	reason, err := checkReason(reason)
	if err != nil {
		return err
	}
	at := x.now()
	return x.ask(ctx, ref, func(reply chan<- error) message { return failRequest{reason, at, reply} })
}

// maxReason bounds why an execution is interrupted or failed.
const maxReason = 4096

func checkReason(reason string) (string, error) {
	if len(reason) > maxReason {
		return "", abi.Errorf(abi.CodeBadRequest, "the reason has %d bytes, the limit is %d", len(reason), maxReason)
	}
	return strings.ToValidUTF8(reason, "\uFFFD"), nil
}

// ask posts a request to an execution and waits for the reply.
func (x *Executions) ask(ctx context.Context, ref Ref, request func(reply chan<- error) message) error {
	if err := x.Lifecycle.Accepting(); err != nil {
		return err
	}
	if _, err := x.Load(ctx, ref); err != nil {
		return err
	}
	reply := make(chan error, 1)
	x.runs.Post(ref.ID, request(reply))
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return journal.Coded("ask "+ref.Name, ctx.Err())
	case <-x.Lifecycle.Context().Done():
		return x.Lifecycle.EndReason()
	}
}

// Wait returns the execution once it is over or paused.
func (x *Executions) Wait(ctx context.Context, ref Ref) (*journal.Execution, error) {
	told := make(chan *journal.Execution, 1)
	watcher := x.Watchers.Add(ref.ID, func(row *journal.Execution) bool {
		copied := *row
		select {
		case told <- &copied:
		default:
		}
		return true
	})
	defer x.Watchers.Remove(ref.ID, watcher)
	row, err := x.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	if row.State != journal.Running {
		return row, nil
	}
	select {
	case row := <-told:
		return row, nil
	case <-ctx.Done():
		return nil, journal.Coded("wait for "+ref.Name, ctx.Err())
	case <-x.Lifecycle.Context().Done():
		return nil, x.Lifecycle.EndReason()
	}
}
