package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Error is the JSON of an error.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Type      string `json:"type,omitempty"`
	Retryable bool   `json:"retryable"`
	// Details are the details of a host fault, for a bug report.
	Details any `json:"details,omitempty"`
}

// ErrorOf is the shape of an error; nil stays nil.
func ErrorOf(e *crusterv1.Error) *Error {
	if e == nil {
		return nil
	}
	v := &Error{
		Code: e.GetCode(), Message: e.GetMessage(), Hint: e.GetHint(), Type: e.GetType(), Retryable: e.GetRetryable(),
	}
	var details map[string]any
	if e.GetCode() == string(abi.CodeHostFault) && abi.Unmarshal(e.GetDetails(), &details) == nil {
		v.Details = details
	}
	return v
}

// Text is the error in one sentence; empty for nil.
func (e *Error) Text() string {
	if e == nil {
		return ""
	}
	text := e.Message
	if e.Code != "" {
		text = e.Code + ": " + text
	}
	if e.Type != "" {
		text += " (" + e.Type + ")"
	}
	return text
}

// cause is [Error.Text] for a column that has no room for it: for an execution that crashes each
// time it runs, the last crash.
func (e *Error) cause() string {
	if e != nil && e.Code == string(abi.CodeCrashLoop) {
		if _, last, ok := strings.Cut(e.Message, "; last: "); ok {
			return last
		}
	}
	return e.Text()
}

// FirstLine is the first line of a message. The further ones show both sides of the misfit, and are
// written from the rows.
func FirstLine(message string) string {
	first, _, _ := strings.Cut(message, "\n")
	return first
}

// lines is the error for a value below a name: in one line, but for codes whose message shows two sides in columns.
func (e *Error) lines() string {
	if code := abi.Code(e.Code); code != abi.CodeNondeterminism && code != abi.CodeDoesNotFit {
		return terminal.OneLine(e.Text())
	}
	all := strings.Split(e.Text(), "\n")
	for i := range all {
		all[i] = terminal.OneLine(all[i])
	}
	return strings.Join(all, "\n")
}

var codeInText = regexp.MustCompile(`\bCR-\d{4}\b`)

// FailureHint is the advice on a workflow that ended or was paused with an error. If it is not the
// general one of the code, it was made for this failure. Otherwise, if the message names the code
// of a cause, the advice on that cause helps more than the advice on failed workflows in general.
// It does not once an operator has failed the execution: then the cause is history. And of a plain
// crash the code around it knows more: the crashed part, and how the execution goes on.
func FailureHint(code abi.Code, message, hint string) string {
	cause := abi.Code(codeInText.FindString(message))
	if hint != "" && hint != code.Info().Hint || code == abi.CodeFailedByOperator || cause == abi.CodeGuestTrap {
		return hint
	}
	return cmp.Or(cause.Info().Hint, hint)
}

// failureOf is the shape of the error of an execution, with the hint that [FailureHint] gives.
func failureOf(e *crusterv1.Error) *Error {
	v := ErrorOf(e)
	if v != nil {
		v.Hint = FailureHint(abi.Code(v.Code), v.Message, v.Hint)
	}
	return v
}

// outcomeText returns the outcome of an op, for a column.
func outcomeText(value json.RawMessage, e *Error, omitted uint64) string {
	if e != nil {
		return terminal.Clip(e.Text(), 80)
	}
	if omitted > 0 {
		return fmt.Sprintf("(%d bytes)", omitted)
	}
	return terminal.Clip(string(value), 80)
}
