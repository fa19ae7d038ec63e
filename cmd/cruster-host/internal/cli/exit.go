package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/client"
)

// Exit codes, for scripts to tell what happened. exitHelp and docs/cli.md say
// the same.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitFailed      = 4
	exitPaused      = 5
	exitUnavailable = 6
	exitDeadline    = 7
	exitSignal      = 130 // what shells report for a program that Ctrl-C ended
)

const exitHelp = `Exit codes:
  0  done
  1  something unexpected went wrong
  2  the command line or the input is not acceptable
  3  there is no such deployment, workflow or execution
  4  the workflow failed or was interrupted
  5  the execution is paused
  6  the host is unreachable, shutting down or full
  7  the timeout passed before the answer was there
130  stopped by Ctrl-C or SIGTERM`

// A usageError is a mistake on the command line.
type usageError struct {
	err error
	// plain is for mistakes that no help text explains, as a file that is missing.
	plain bool
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// inputf is usagef for what the command line names, not for what it says.
func inputf(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...), plain: true}
}

// exitCode tells how the process ends after err.
func exitCode(err error) int {
	var usage *usageError
	var failed *client.RunError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &failed):
		if failed.State == client.Paused {
			return exitPaused
		}
		return exitFailed
	case errors.Is(err, context.DeadlineExceeded):
		return exitDeadline
	case errors.Is(err, context.Canceled):
		return exitSignal
	}
	switch abi.AsError(err).Code {
	case abi.CodePaused:
		return exitPaused
	case abi.CodeOverloaded:
		return exitUnavailable
	}
	switch abi.AsError(err).Code.Info().Category {
	case abi.InvalidArgument, abi.AlreadyExists, abi.FailedPrecondition, abi.PermissionDenied, abi.ResourceExhausted:
		return exitUsage
	case abi.NotFound:
		return exitNotFound
	case abi.Unavailable:
		return exitUnavailable
	case abi.DeadlineExceeded:
		return exitDeadline
	default:
		return exitInternal
	}
}

// report writes an error the way people and scripts read it: one line with the
// code, one with what to do.
func report(w io.Writer, err error) {
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(w, "error: %v\n", err)
		if !usage.plain {
			fmt.Fprintln(w, "hint: add --help to the command to see how it is used")
		}
		return
	}
	if errors.Is(err, context.Canceled) {
		// Not "interrupted": that is what executions can be, and none was.
		fmt.Fprintln(w, "error: stopped before the host answered\nhint: What the host was asked to do goes on: run the command again to see how it ends.")
		return
	}
	coded := abi.AsError(err)
	message := coded.Error()
	var failed *client.RunError
	if errors.As(err, &failed) {
		message = fmt.Sprintf("%s: %s %s: %s", coded.Code, failed.Execution, stateVerb(failed.State), coded.Message)
		if coded.Code == "" {
			message = strings.TrimPrefix(message, ": ")
		}
	}
	fmt.Fprintf(w, "error: %s\n", message)
	if coded.Type != "" {
		fmt.Fprintf(w, "type: %s\n", coded.Type)
	}
	hint := coded.Hint
	if failed != nil {
		hint = cmp.Or(causeHint(coded.Code, coded.Message), hint)
	}
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
	if failed != nil && failed.State == client.Paused {
		fmt.Fprintf(w, "next: %s, once the cause is gone\n", resumeLine(failed.Execution))
	}
}

// resumeLine is the command that continues a paused execution.
func resumeLine(execution string) string {
	return "cruster-host workflow resume " + quoteShell(oneLine(execution))
}

var codeInText = regexp.MustCompile(`\bCR-\d{4}\b`)

// causeHint is the advice on the error that a workflow passed on: it helps more
// than that on failed workflows in general. Empty if the message names no code,
// and if the cause is history: an operator has decided to leave it.
func causeHint(code abi.Code, message string) string {
	if code == abi.CodeFailedByOperator {
		return ""
	}
	return abi.Code(codeInText.FindString(message)).Info().Hint
}

func stateVerb(s client.State) string {
	if s == client.Failed {
		return string(s)
	}
	return "is " + string(s)
}
