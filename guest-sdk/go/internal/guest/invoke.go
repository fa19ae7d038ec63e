package guest

import (
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
)

// Attempt is one attempt of an activity.
type Attempt struct {
	Host       Host
	Invocation abi.Invocation
}

// Start begins an invocation. A workflow that now waits is returned as an
// execution to be resumed; everything else is over at once and yields its
// outcome.
func (r *Registry) Start(h Host, inv abi.Invocation, opts Options) (*Execution, *abi.Outcome) {
	switch inv.Kind {
	case abi.InvokeWorkflow:
		wf, ok := r.workflows[inv.Name]
		if !ok {
			return nil, failure(abi.Errorf(abi.CodeUnknownInvoke, "the module has no workflow %q", inv.Name))
		}
		ex := startExecution(h, wf, inv, opts)
		return ex, ex.outcome
	case abi.InvokeActivity:
		return nil, r.attempt(h, inv)
	case abi.InvokeKey:
		return nil, r.key(inv)
	default:
		return nil, failure(abi.Errorf(abi.CodeUnknownInvoke, "the SDK knows no invocation of kind %q", inv.Kind))
	}
}

// attempt runs one attempt of an activity. A panic is the activity's failure,
// not the module's: it is worth another attempt.
func (r *Registry) attempt(h Host, inv abi.Invocation) (out *abi.Outcome) {
	a, ok := r.activities[inv.Name]
	if !ok {
		return failure(abi.Errorf(abi.CodeUnknownActivity, "the module has no activity %q", inv.Name))
	}
	defer func() {
		if p := recover(); p != nil {
			out = failure(abi.Errorf(abi.CodeActivityCrashed, "activity %s panicked at %s: %v", inv.Name, place(), p))
		}
	}()
	value, err := a.Run(Attempt{Host: h, Invocation: inv}, inv.Body)
	if err != nil {
		return failure(ActivityError(err))
	}
	return &abi.Outcome{Value: value}
}

// key computes the idempotency key of a request.
func (r *Registry) key(inv abi.Invocation) (out *abi.Outcome) {
	wf, ok := r.workflows[inv.Name]
	if !ok {
		return failure(abi.Errorf(abi.CodeUnknownInvoke, "the module has no workflow %q", inv.Name))
	}
	if wf.Key == nil {
		return failure(abi.Errorf(abi.CodeUnknownInvoke, "workflow %q has no key function", inv.Name))
	}
	defer func() {
		if p := recover(); p != nil {
			out = failure(abi.Errorf(abi.CodeKeyFunction, "the key function of %s panicked at %s: %v", inv.Name, place(), p))
		}
	}()
	value, err := wf.Key(inv.Body)
	if err != nil {
		if abi.CodeOf(err) == abi.CodeBadInput {
			return failure(abi.AsError(err))
		}
		return failure(NewError(abi.CodeKeyFunction, err))
	}
	return &abi.Outcome{Value: value}
}

func failure(e *abi.Error) *abi.Outcome { return &abi.Outcome{Error: e} }

// BadInput says that a request does not fit the type that the workflow takes.
type BadInput struct{ Reason *abi.Error }

func (e *BadInput) Error() string { return e.Reason.Error() }
func (e *BadInput) Unwrap() error { return e.Reason }

// NonRetryable marks an error that another attempt cannot mend.
type NonRetryable struct{ Cause error }

func (e *NonRetryable) Error() string { return e.Cause.Error() }
func (e *NonRetryable) Unwrap() error { return e.Cause }

// ActivityError is how an error that an activity returned goes to the host. An
// error with a code of the host keeps it, so that the host knows a refused
// statement from a failure of the activity's own.
func ActivityError(err error) *abi.Error {
	out := NewError(abi.CodeActivityFailed, err)
	var e *abi.Error
	if errors.As(err, &e) {
		out.Retryable = e.Retryable
		if !ownWords(e.Code) {
			out.Code, out.Hint = e.Code, e.Hint
		}
		if err == error(e) {
			out.Message = e.Message
		}
	}
	var final *NonRetryable
	if errors.As(err, &final) {
		out.Retryable = false
	}
	return out
}

// Encode turns a value of the application into msgpack, in canonical form: Go
// maps have no order, and the same value must give the same bytes every time.
func Encode(what string, v any) ([]byte, error) {
	b, err := abi.Marshal(v)
	if err == nil {
		b, err = abi.Canonical(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if len(b) > abi.MaxPayload {
		return nil, abi.Errorf(abi.CodePayloadTooLarge, "%s takes %d bytes, the limit is %d", what, len(b), abi.MaxPayload)
	}
	return b, nil
}

// NewActivityContext makes the SDK's typed context of an attempt. The SDK sets
// it outside of modules, for crustertest, which cannot make one itself.
var NewActivityContext func(Attempt) any
