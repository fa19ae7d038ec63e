package guest

import (
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
)

// Attempt is one attempt of an activity, or of a call of an entity without a state.
type Attempt struct {
	Host       Host
	Invocation abi.Invocation
}

// Start begins an invocation. For a workflow it returns the execution, which the caller resumes while the outcome is
// nil. All others end at once and return only their outcome.
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
	case abi.InvokeCall, abi.InvokeOperations:
		if r.runEntity == nil {
			return nil, failure(unknownEntity(inv.Name))
		}
		return nil, r.runEntity(r, h, inv)
	default:
		return nil, failure(abi.Errorf(
			abi.CodeUnknownInvoke, "the SDK does not know the kind of invocation %q", inv.Kind,
		))
	}
}

// attempt runs one attempt of an activity. A panic fails the attempt and does not crash the module: the host may retry.
func (r *Registry) attempt(h Host, inv abi.Invocation) (out *abi.Outcome) {
	a, ok := r.activities[inv.Name]
	if !ok {
		return failure(abi.Errorf(abi.CodeUnknownActivity, "the module has no activity %q", inv.Name))
	}
	defer func() {
		if p := recover(); p != nil {
			out = failure(abi.Errorf(abi.CodeActivityCrashed, "activity %s panicked: %v%s", inv.Name, p, panicChain()))
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
			out = failure(abi.Errorf(
				abi.CodeKeyFunction, "the key function of %s panicked: %v%s", inv.Name, p, panicChain(),
			))
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

// NonRetryable marks an error that another attempt cannot fix.
type NonRetryable struct{ Cause error }

func (e *NonRetryable) Error() string { return e.Cause.Error() }
func (e *NonRetryable) Unwrap() error { return e.Cause }

// ActivityError is the error that the host receives when an activity returned err. If err has a code that the host gave
// it, the code is kept, so that the host can tell a refused statement from an error that the activity made.
func ActivityError(err error) *abi.Error { return attemptError(abi.CodeActivityFailed, err) }

// CallError is [ActivityError] for an operation of an entity without a state.
func CallError(err error) *abi.Error {
	if reason := faultOf(err); reason != nil {
		return reason
	}
	out := attemptError(abi.CodeOperationFailed, err)
	if out.Code == abi.CodeOperationFailed {
		out.Retryable = false
	}
	return out
}

// lackingError is the error of code that needs something missing in a sandbox. The error about time
// zones names a file.
func lackingError(lacking abi.Code, err error) *abi.Error {
	if lacking == abi.CodeNoZones {
		return abi.Errorf(lacking, "a time zone cannot be loaded: %v", err)
	}
	return abi.Errorf(lacking, "%v", err)
}

func attemptError(code abi.Code, err error) *abi.Error {
	out := NewError(code, err)
	var e *abi.Error
	if !errors.As(err, &e) {
		if lacking := lackingIn(err); lacking != "" {
			return lackingError(lacking, err)
		}
	} else {
		out.Retryable = e.Retryable
		if !fromApplication(e.Code) {
			out.Code, out.Hint = e.Code, e.Hint
		}
		if err == error(e) { //nolint:errorlint // e itself: the message of a wrapped e lacks the words around it
			out.Message = e.Message
		}
	}
	var final *NonRetryable
	if errors.As(err, &final) {
		out.Retryable = false
	}
	return out
}

// Encode encodes a value of the application as msgpack, in canonical form: Go maps have no order, and the same value
// must give the same bytes every time. The argument what names the value in errors.
func Encode(what string, v any) ([]byte, error) {
	b, err := abi.MarshalCanonical(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if len(b) > abi.MaxPayload {
		return nil, abi.Errorf(
			abi.CodePayloadTooLarge, "%s takes %d bytes, the limit is %d", what, len(b), abi.MaxPayload,
		)
	}
	return b, nil
}

// NewActivityContext makes the SDK's typed context of an attempt, which is ended with it. The SDK sets it
// in tests only, for crustertest, which cannot make one itself.
var NewActivityContext func(Attempt) (ctx any, end func())

// PackageOf returns the package that registered the definition behind a value of the SDK. The SDK
// sets it in tests only, for crustertest.
var PackageOf func(handle any) string
