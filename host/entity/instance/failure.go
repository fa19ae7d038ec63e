package instance

import (
	"cmp"
	"errors"

	"github.com/cruster/cruster/abi"
)

// IsOfGuest reports whether an error is the guest's fault: an operation is to blame.
func IsOfGuest(err error) bool {
	var refused *Refusal
	return !errors.As(err, &refused) && !abi.IsOfHost(err)
}

// Refusal is the error of a module that could not run any operation: it does not have the entity, or cannot read the
// state. Other code could.
type Refusal struct{ Reason *abi.Error }

// Error implements error.
func (r *Refusal) Error() string { return r.Reason.Error() }

// Unwrap yields the *abi.Error.
func (r *Refusal) Unwrap() error { return r.Reason }

// Crashed is the outcome of an operation that did not come to one itself.
func Crashed(operation string, err error) *abi.Error {
	coded := abi.AsError(err)
	if !abi.IsOfGuest(coded) {
		return coded // it names the operation's mistake
	}
	return abi.Errorf(abi.CodeOperationCrashed, "operation %q: %s", operation, coded.Message).WithHint("%s", coded.Hint)
}

// OutcomeOf is the outcome of an operation. An error that has no code is the operation's own.
func OutcomeOf(o *abi.OperationReply) abi.Outcome {
	if o.Error == nil {
		return abi.Outcome{Value: o.Value}
	}
	failure := *o.Error
	failure.Clamp()
	failure.Code = cmp.Or(failure.Code, abi.CodeOperationFailed)
	return abi.Outcome{Error: &failure}
}

// IsUnperformed tells whether an error that the module answered with says that the operation came to no
// outcome of its own.
func IsUnperformed(err *abi.Error) bool {
	switch err.Code {
	case abi.CodeOperationCrashed, abi.CodeOperationInput, abi.CodeUnknownOperation, abi.CodeBadBody,
		abi.CodeUnreadable:
		return true
	}
	return false
}
