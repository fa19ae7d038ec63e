package host

import (
	"context"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// SignalRequest asks for a signal to be sent.
type SignalRequest struct {
	// Name of the signal.
	Name string
	// Value is its payload, one msgpack value; nil if it was left out.
	Value []byte
	// RequestID makes it safe to repeat the request: the same one is received once, for as
	// long as receipts are kept. Empty means that it is not repeated.
	RequestID string
}

// signal returns the requested signal.
func (req *SignalRequest) signal() (*message.Signal, error) {
	origin, err := originOf(req.RequestID)
	if err != nil {
		return nil, err
	}
	return &message.Signal{Name: req.Name, Value: req.Value, Origin: origin}, nil
}

// Signal sends a signal to an execution. It returns once the signal is durable; the
// workflow receives it when it asks for it.
func (e *Engine) Signal(ctx context.Context, namespace, name string, req SignalRequest) error {
	if err := e.admission.AdmitMessage(); err != nil {
		return err
	}
	s, err := req.signal()
	if err != nil {
		return err
	}
	return e.withRef(ctx, namespace, name, func(ref execution.Ref) error { return e.executions.Signal(ctx, ref, *s) })
}

// SignalWithStart sends a signal to an execution, and starts it first if it is not there: then both
// are durable, or neither. A finished execution counts as not there if the start says so.
func (e *Engine) SignalWithStart(ctx context.Context, start StartRequest, signal SignalRequest) (row *journal.Execution, existed bool, err error) {
	s, err := signal.signal()
	if err != nil {
		return nil, false, err
	}
	if start.RequestID == "" {
		start.RequestID = signal.RequestID
	}
	if row, err = e.admit(ctx, start); err != nil {
		return nil, false, err
	}
	for {
		row, existed, err = e.start(ctx, row, start.IfFinished, s)
		if err != nil || !existed {
			return row, existed, err
		}
		if row.Superseded > 0 && start.RequestID == signal.RequestID {
			return row, true, nil // this request has started it, with this signal
		}
		err = e.executions.Signal(ctx, execution.RefTo(row), *s)
		if abi.CodeOf(err) != abi.CodeExecutionNotFound {
			return row, true, err
		}
		// It was deleted, or started over, since it was found.
		if row, err = e.prepare(ctx, start); err != nil {
			return nil, false, err
		}
	}
}

// checkSignal tells whether the workflow of an execution, as its module has it, can be sent
// a signal.
func (e *Engine) checkSignal(ctx context.Context, row *journal.Execution, name string, value []byte) ([]byte, error) {
	workflow, err := e.workflowOf(ctx, row)
	if err != nil {
		return nil, err
	}
	signal, err := workflow.Signal(name)
	if err != nil {
		return nil, err
	}
	return signal.CheckValue(value)
}

// workflowOf returns the declaration of an execution's workflow in its module.
func (e *Engine) workflowOf(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error) {
	m, err := e.catalog.Module(ctx, row.Digest)
	if err != nil {
		return nil, err
	}
	_, workflow, _ := strings.Cut(row.Workflow, "/")
	i := slices.IndexFunc(m.Manifest.Workflows, func(w abi.WorkflowInfo) bool { return w.Name == workflow })
	if i < 0 {
		return nil, abi.Errorf(abi.CodeWorkflowManifestLie, "the module of %s has no workflow %q", row.Name(), workflow)
	}
	return &m.Manifest.Workflows[i], nil
}

// WorkflowOf returns the declaration of an execution's workflow in its module.
func (e *Engine) WorkflowOf(ctx context.Context, namespace, name string) (*abi.WorkflowInfo, error) {
	row, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return e.workflowOf(ctx, row)
}
