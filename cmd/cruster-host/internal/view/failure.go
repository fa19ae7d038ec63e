package view

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

// Failure is the JSON of the error that a command ends with.
type Failure struct {
	Code     string `json:"code,omitempty"`
	Category string `json:"category,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	// Type is the application's own name for the error.
	Type      string `json:"type,omitempty"`
	Retryable bool   `json:"retryable"`
	// Execution is the execution that has no result, and State says why.
	Execution string       `json:"execution,omitempty"`
	State     client.State `json:"state,omitempty"`
	Diff      *Diff        `json:"diff,omitempty"`
	// Next are commands that help, each with a comment.
	Next []string `json:"next,omitempty"`

	diff *crusterv1.Diff
}

// FailureOf is the shape of an error with a code.
func FailureOf(e *abi.Error) Failure {
	f := Failure{
		Code: string(e.Code), Message: e.Message, Hint: e.Hint, Type: e.Type, Retryable: e.Retryable,
	}
	if e.Code != "" {
		f.Category = Category(e.Code.Info().Category)
	}
	return f
}

// OfExecution is f as the outcome of an execution. addrFlag holds the flags that a suggested command needs to reach
// the same host.
func (f Failure) OfExecution(execution string, state client.State, addrFlag string) Failure {
	f.Execution, f.State = execution, state
	f.Hint = FailureHint(abi.Code(f.Code), f.Message, f.Hint)
	if state == client.Paused {
		f.Next = RecoveryCommands(abi.Code(f.Code), execution, addrFlag)
	}
	return f
}

// WithDiff is f with the differences between a journal and the code, in place of those in its message.
func (f Failure) WithDiff(d *crusterv1.Diff) Failure {
	f.Message, f.Diff, f.diff = FirstLine(f.Message), DiffOf(d), d
	return f
}

// WriteFailure writes an error for people: the event in a line with the code, the remedy in another one.
func WriteFailure(w io.Writer, f Failure) error {
	line := f.Message
	switch f.State {
	case "":
	case client.Failed:
		line = fmt.Sprintf("%s %s: %s", f.Execution, f.State, line)
	default:
		line = fmt.Sprintf("%s is %s: %s", f.Execution, f.State, line)
	}
	if f.Code != "" {
		line = f.Code + ": " + line
	}
	fmt.Fprintf(w, "error: %s\n", line)
	if f.diff != nil {
		if err := WriteDiff(w, f.diff); err != nil {
			return err
		}
	}
	if f.Type != "" {
		fmt.Fprintf(w, "type: %s\n", f.Type)
	}
	if f.Hint != "" {
		fmt.Fprintf(w, "hint: %s\n", f.Hint)
	}
	for _, command := range f.Next {
		fmt.Fprintf(w, "next: %s\n", command)
	}
	return nil
}

// WriteFailureJSON writes an error for scripts, in one line: notes may stand above it.
func WriteFailureJSON(w io.Writer, f Failure) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(map[string]Failure{"error": f})
}
