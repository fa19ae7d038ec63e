package view

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// The commands that the output suggests. addrFlag is what a command needs to reach
// the same host: empty, or " --addr HOST:PORT".

// ResumeCommand continues a paused execution.
func ResumeCommand(execution string) string {
	return "cruster-host workflow resume " + terminal.QuoteWord(terminal.OneLine(execution))
}

// moveCommand moves an execution to the module that was pushed last.
func moveCommand(execution string) string {
	return "cruster-host workflow move " + terminal.QuoteWord(terminal.OneLine(execution)) + " --to latest"
}

// RescueSteps is how a paused execution goes on, by the code of its pause, one step a
// line: what the code of the workflow caused ends with other code.
func RescueSteps(code abi.Code, execution string) []string {
	switch code {
	case abi.CodeNondeterminism, abi.CodeCrashLoop, abi.CodeWorkflowManifestLie:
		return []string{
			moveCommand(execution) + ", once the fixed module is pushed",
			ResumeCommand(execution) + ", if the cause was elsewhere and is gone",
		}
	default:
		return []string{ResumeCommand(execution) + ", once the cause is gone"}
	}
}

// WaitCommand waits for an execution.
func WaitCommand(execution, addrFlag string) string {
	return "cruster-host workflow wait " + terminal.QuoteWord(execution) + addrFlag
}

// executeCommand runs a workflow with a sample request, ready to be edited.
func executeCommand(d *crusterv1.Deployment, w *crusterv1.WorkflowInfo, addrFlag string) string {
	return fmt.Sprintf("cruster-host workflow execute %s/%s%s --input %s", d.GetName(), w.GetName(), addrFlag, terminal.QuoteWord(sampleInput(w.GetInput())))
}
