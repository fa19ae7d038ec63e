package cruster

import (
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Error is the error of a failed activity, a rejected deferred or another workflow. Find it in a chain with errors.As.
//
// Cruster sets Code ("CR-3001": the activity returned an error); the application sets Type and Details.
type Error = abi.Error

var (
	// ErrInterrupted is the error of durable calls after the execution was asked to stop, unless their context is
	// shielded. A workflow that returns it ends as interrupted.
	ErrInterrupted = guest.ErrInterrupted
	// ErrCanceled is the error of a future after [Future.Cancel], and of waits on a context that
	// was cancelled: see [WithCancel].
	ErrCanceled = guest.ErrCanceled
	// ErrTimeout is the error of [WithTimeout], and of waits on a context of [WithDeadline], when
	// the time is up.
	ErrTimeout = errors.New("timed out")
	// ErrClosed is the error of [Channel.Send] on a channel that was closed.
	ErrClosed = errors.New("the channel is closed")
	// ErrNoRows is the error of [QueryRow] when there is no row.
	ErrNoRows = errors.New("the query found no row")

	errManyRows = errors.New("the query found more than one row: narrow it, or add LIMIT 1")
)

// Errorf makes an error of a type that callers can switch on with [ErrorType]. As the error of an activity it may be
// retried; see [NonRetryable].
func Errorf(typ, format string, args ...any) *Error {
	return &Error{Type: typ, Message: fmt.Sprintf(format, args...), Retryable: true}
}

// NonRetryable marks the error of an activity as final: the host makes no further attempt,
// regardless of the retry policy.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return &guest.NonRetryable{Cause: err}
}

// WithDetails returns a copy of e that carries a value of the application. The caller reads it with [Details].
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

// Details reads the value that an error was given with [WithDetails]. It is false if there is none or if it is of
// another shape.
func Details[T any](err error) (T, bool) {
	var v T
	var e *Error
	if !errors.As(err, &e) || len(e.Details) == 0 {
		return v, false
	}
	return v, abi.Unmarshal(e.Details, &v) == nil
}

// ErrorType is the type of the first [Error] in the chain of err; empty if there is none.
func ErrorType(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Type
	}
	return ""
}

// ErrorCode is the code of the first [Error] in the chain of err; empty if there is none.
func ErrorCode(err error) string { return string(abi.CodeOf(err)) }
