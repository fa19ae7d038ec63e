package cli

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// Exit codes, for scripts and supervisors to tell the outcome.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitFailed      = 4
	exitPaused      = 5
	exitUnavailable = 6
	exitDeadline    = 7
	exitFenced      = 8
	exitStore       = 9
	exitStoreFull   = 10
	exitStoreInUse  = 11
	exitAddress     = 12
	exitPrivilege   = 13
	exitStoreGone   = 14
	exitMisfit      = 15
	exitExists      = 16
	exitState       = 17
	exitForbidden   = 18
	exitSignal      = 130 // the exit code of shells for a program ended by Ctrl-C
)

// exits is the one table of exit codes: the help is made of it, and a test holds docs/cli.md and docs/operations.md
// against it.
var exits = []struct {
	code    int
	meaning string
	// host says that a host exits with it; the others belong to commands.
	host bool
}{
	{exitOK, "done", true},
	{exitInternal, "something unexpected went wrong", true},
	{exitUsage, "the command line or the input is not acceptable", true},
	{exitNotFound, "there is no such module, deployment, workflow, execution or entity", false},
	{exitFailed, "the workflow or the operation failed, or was interrupted", false},
	{exitPaused, "the execution is paused", false},
	{exitUnavailable, "the host is unreachable, shutting down or full", false},
	{exitDeadline, "the timeout passed before the answer was there", false},
	{exitFenced, "another host has taken over the store", true},
	{exitStore, "the store cannot be reached, or does not work", true},
	{exitStoreFull, "the disk of the store is full", true},
	{exitStoreInUse, "another process uses the embedded store", true},
	{exitAddress, "an address to listen on is in use", true},
	{exitPrivilege, "the database user lacks a right", true},
	{exitStoreGone, "the files of the embedded store were taken away", true},
	{exitMisfit, "the module does not fit an open execution, or (module check) what entities have and take", false},
	{exitExists, "it exists already, or has been done already", false},
	{exitState, "the state of an execution, an entity or a deployment does not allow it", false},
	{exitForbidden, "it is not permitted", false},
	{exitSignal, "stopped by Ctrl-C or SIGTERM", false},
}

// exitByCode are the exit codes of errors whose code says all.
var exitByCode = map[abi.Code]int{
	abi.CodeAddress:     exitAddress,
	abi.CodeDoesNotFit:  exitMisfit,
	abi.CodeFenced:      exitFenced,
	abi.CodeHostFault:   exitPaused,
	abi.CodeMailboxFull: exitUnavailable,
	abi.CodeOverloaded:  exitUnavailable,
	// The digest of a missing module is a name that does not exist; the category of the code is made for
	// executions, which cannot run without their module.
	abi.CodeModuleNotFound: exitNotFound,
	// Failures of operations and updates are outcomes, as failures of workflows are.
	abi.CodeDropped:          exitFailed,
	abi.CodeInterrupted:      exitFailed,
	abi.CodeOperationCrashed: exitFailed,
	abi.CodeOperationFailed:  exitFailed,
	abi.CodeParked:           exitFailed,
	abi.CodeUpdateRefused:    exitFailed,
	abi.CodeUpdateUnanswered: exitFailed,
	abi.CodeWorkflowFailed:   exitFailed,
	abi.CodePaused:           exitPaused,
	abi.CodeStore:            exitStore,
	abi.CodeStoreFull:        exitStoreFull,
	abi.CodeStoreGone:        exitStoreGone,
	abi.CodeStoreInUse:       exitStoreInUse,
	abi.CodeStoreLog:         exitStoreGone,
	abi.CodeStoreNewer:       exitStore,
	abi.CodeStorePrivilege:   exitPrivilege,
}

// exitCode is the code that the process exits with after err.
func exitCode(err error) int {
	var mistake *usage.Error
	var failed *client.RunError
	var refusal *foreseenRefusal
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &refusal):
		return exitMisfit
	case errors.As(err, &mistake):
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
	if code, ok := exitByCode[abi.AsError(err).Code]; ok {
		return code
	}
	switch abi.AsError(err).Code.Info().Category {
	case abi.InvalidArgument, abi.ResourceExhausted:
		return exitUsage
	case abi.AlreadyExists:
		return exitExists
	case abi.FailedPrecondition:
		return exitState
	case abi.PermissionDenied:
		return exitForbidden
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

// report writes an error to standard error, in the form that the command line asks for.
func (a *app) report(err error) {
	f := failureOf(err, a.addrFlag())
	// There is nowhere to report a failure to write to.
	if a.output == "json" || a.output == "jsonl" {
		_ = view.WriteFailureJSON(a.stderr, f)
		return
	}
	_ = view.WriteFailure(a.stderr, f)
}

// failureOf is the part of an error that people and scripts read. addrFlag holds the flags that a suggested command
// needs to reach the same host.
func failureOf(err error, addrFlag string) view.Failure {
	var mistake *usage.Error
	if errors.As(err, &mistake) {
		f := view.Failure{Category: view.CategoryUsage, Message: err.Error()}
		if mistake.HelpExplains() {
			f.Hint = "add --help to the command to see how it is used"
		}
		return f
	}
	if errors.Is(err, context.Canceled) {
		return view.Failure{
			Category: view.CategoryCancelled,
			// Not "interrupted": executions can be interrupted, and none was.
			Message: "stopped before the host answered",
			Hint:    "What the host was asked to do goes on: run the command again to see how it ends.",
		}
	}
	f := view.FailureOf(abi.AsError(err))
	var failed *client.RunError
	if errors.As(err, &failed) {
		f = f.OfExecution(failed.Execution, failed.State, addrFlag)
	}
	var misfit *client.Misfit
	if errors.As(err, &misfit) {
		f = f.WithDiff(misfit.Diff)
	}
	return f
}
