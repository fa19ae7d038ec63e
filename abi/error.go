package abi

import (
	"errors"
	"fmt"
	"strings"
)

// Error is the type of every error that a user can see, on either side of the boundary. It names the event and its
// subject (Message) and what to do (Hint).
type Error struct {
	// Code is stable: "CR-1203". See codes.go.
	Code Code `msgpack:"code"`
	// Details is an optional msgpack value that the application defines.
	Details []byte `msgpack:"details"`
	Hint    string `msgpack:"hint"`
	Message string `msgpack:"message"`
	// Retryable says whether another attempt may succeed. It decides whether an activity is tried again; elsewhere it
	// is for people to read.
	Retryable bool `msgpack:"retryable"`
	// Type is an optional name that the application defines, for callers to switch on: "card_declined".
	Type string `msgpack:"type"`
}

// Errorf makes an error of the given code, with the code's hint.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{
		Code: code, Message: fmt.Sprintf(format, args...), Hint: code.Info().Hint, Retryable: code.Info().Retryable,
	}
}

// WithHint returns a copy of e with another hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Error renders code and message. Code that shows the error to a person also shows the hint.
func (e *Error) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return string(e.Code) + ": " + e.Message
}

// Is matches errors of the same code, so that errors.Is(err, &Error{Code: c}) finds a code anywhere in a chain.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// RanTooLong tells whether e is about a turn that ran for too long: by its code, or as the crash that a workflow was
// paused for.
func (e *Error) RanTooLong() bool {
	if e == nil {
		return false
	}
	return e.Code == CodeGuestTimeout ||
		e.Code == CodeCrashLoop && strings.Contains(e.Message, string(CodeGuestTimeout)+": ")
}

// AsError finds the first *Error in err's chain, or wraps err as an internal error.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Errorf(CodeInternal, "%v", err)
}

// CodeOf returns the code of err; empty if there is no *Error in its chain.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
