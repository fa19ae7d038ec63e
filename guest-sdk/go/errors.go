package cruster

import (
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Error is a failure that crosses the boundary: what an activity, a deferred or
// another workflow failed with. Find it in a chain with errors.As.
//
// Code is Cruster's ("CR-3001": the activity returned an error), Type and
// Details are the application's own.
type Error = abi.Error

var (
	// ErrInterrupted is what durable calls return once the execution was asked
	// to stop, unless their context is shielded. A workflow that returns it ends
	// as interrupted.
	ErrInterrupted = guest.ErrInterrupted
	// ErrCanceled is what awaiting a future returns after [Future.Cancel].
	ErrCanceled = guest.ErrCanceled
	// ErrTimeout is what [WithTimeout] returns when the time is up.
	ErrTimeout = errors.New("timed out")
	// ErrNoRows is what [QueryRow] returns when there is no row.
	ErrNoRows = errors.New("the query found no row")
)

// Errorf makes an error of a type that callers can switch on with [ErrorType].
// As the error of an activity it may be retried; see [NonRetryable].
func Errorf(typ, format string, args ...any) *Error {
	return &Error{Type: typ, Message: fmt.Sprintf(format, args...), Retryable: true}
}

// NonRetryable marks the error of an activity as final: no further attempt is
// made, whatever the retry policy says.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return &guest.NonRetryable{Cause: err}
}

// WithDetails returns a copy of e that carries a value of the application's
// own, to be read with [Details].
func WithDetails(e *Error, details any) *Error {
	out := *e
	b, err := abi.Marshal(details)
	if err != nil {
		out.Message = fmt.Sprintf("%s (its details are lost: %v)", e.Message, err)
		return &out
	}
	out.Details = b
	return &out
}

// Details reads the value that an error was given with [WithDetails]. It is
// false if there is none or if it is of another shape.
func Details[T any](err error) (T, bool) {
	var v T
	var e *Error
	if !errors.As(err, &e) || len(e.Details) == 0 {
		return v, false
	}
	return v, abi.Unmarshal(e.Details, &v) == nil
}

// ErrorType is the type of the first [Error] in the chain of err; empty if
// there is none.
func ErrorType(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Type
	}
	return ""
}

// ErrorCode is the code of the first [Error] in the chain of err; empty if
// there is none.
func ErrorCode(err error) string { return string(abi.CodeOf(err)) }
