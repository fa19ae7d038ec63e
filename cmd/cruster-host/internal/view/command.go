package view

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// The commands that the output suggests. addrFlag holds the flags a command needs to reach the same
// host: empty, or " --addr HOST:PORT".

// ResumeCommand continues a paused execution.
func ResumeCommand(execution string) string {
	return "cruster-host workflow resume " + terminal.QuoteWord(terminal.OneLine(execution))
}

// moveCommand moves an execution to the module that was pushed last.
func moveCommand(execution string) string {
	return "cruster-host workflow move " + terminal.QuoteWord(terminal.OneLine(execution)) + " --to latest"
}

// stopCommand ends a paused execution with its cleanup.
func stopCommand(execution string) string {
	return "cruster-host workflow interrupt " + terminal.QuoteWord(terminal.OneLine(execution)) + " --resume"
}

// failCommand ends a paused execution without its cleanup.
func failCommand(execution string) string {
	return "cruster-host workflow fail " + terminal.QuoteWord(terminal.OneLine(execution)) + " --reason WHY"
}

// RecoveryCommands are the commands that resume or end a paused execution, by the code of its pause, one a line,
// to be pasted: a pause caused by the code of the workflow ends with other code. A command that is
// sure to pause it again is not among them. A request to stop is delivered after the work in hand
// at the pause: an execution whose code fails each time it runs does not get there.
func RecoveryCommands(code abi.Code, execution, addrFlag string) []string {
	return recoveryCommands(code, execution, addrFlag, false)
}

// RecoveryCommandsAfterStop are the commands for an execution that was asked to stop and is paused again.
func RecoveryCommandsAfterStop(code abi.Code, execution, addrFlag string) []string {
	return recoveryCommands(code, execution, addrFlag, true)
}

func recoveryCommands(code abi.Code, execution, addrFlag string, stopTried bool) []string {
	move := moveCommand(execution) + addrFlag + "  # once the fixed module is pushed"
	resume := ResumeCommand(execution) + addrFlag
	elsewhere := resume + "  # if the cause was elsewhere and is gone"
	stop := stopCommand(execution) + addrFlag + "  # to end it with its cleanup"
	fail := failCommand(execution) + addrFlag + "  # to end it without"
	switch code {
	case abi.CodeNondeterminism, abi.CodeWorkflowManifestLie, abi.CodeUnknownInvoke:
		return []string{move, elsewhere, fail + " its cleanup"}
	case abi.CodeCrashLoop:
		if stopTried {
			return []string{move, elsewhere, fail}
		}
		return []string{move, elsewhere, stop + ", if its code gets there", fail}
	case abi.CodeExecutionTooLong:
		if stopTried {
			return []string{fail}
		}
		return []string{stop, fail}
	case abi.CodeTooManyOps, abi.CodeGuestMemory: // the executions that no host of this size can run
		return []string{move, resume + "  # once the host has more memory", fail + " its cleanup"}
	default:
		if code.Info().Blame == abi.BlameGuest { // the code's own, each time it runs
			return []string{move, fail + " its cleanup"}
		}
		return []string{resume + "  # once the cause is gone"}
	}
}

// canStop tells whether a request to stop ends an execution that is paused with the code, and the
// possible obstacle.
func canStop(code abi.Code) (can bool, unless string) {
	switch code {
	case abi.CodeNondeterminism, abi.CodeWorkflowManifestLie, abi.CodeUnknownInvoke:
		return false, ""
	case abi.CodeCrashLoop:
		return true, "  # if its code gets there"
	default:
		return code.Info().Blame != abi.BlameGuest, ""
	}
}

// WaitCommand waits for an execution.
func WaitCommand(execution, addrFlag string) string {
	return "cruster-host workflow wait " + terminal.QuoteWord(execution) + addrFlag
}

// restartCommand starts a new run of a finished execution.
func restartCommand(execution, addrFlag string) string {
	return "cruster-host workflow restart " + terminal.QuoteWord(execution) + addrFlag
}

// executeCommand runs a workflow with a sample request, ready to be edited.
func executeCommand(d *crusterv1.Deployment, w *crusterv1.WorkflowInfo, addrFlag string) string {
	return fmt.Sprintf(
		"cruster-host workflow execute %s/%s%s --input %s", d.GetName(), w.GetName(), addrFlag,
		terminal.QuoteWord(sampleInput(w.GetInput())),
	)
}
