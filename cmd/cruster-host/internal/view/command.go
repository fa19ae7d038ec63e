package view

import (
	"fmt"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// The commands that the output suggests. addrFlag is what a command needs to reach
// the same host: empty, or " --addr HOST:PORT".

// ResumeCommand continues a paused execution.
func ResumeCommand(execution string) string {
	return "cruster-host workflow resume " + terminal.QuoteWord(terminal.OneLine(execution))
}

// WaitCommand waits for an execution.
func WaitCommand(execution, addrFlag string) string {
	return "cruster-host workflow wait " + terminal.QuoteWord(execution) + addrFlag
}

// executeCommand runs a workflow with a sample request, ready to be edited.
func executeCommand(d *crusterv1.Deployment, w *crusterv1.WorkflowInfo, addrFlag string) string {
	return fmt.Sprintf("cruster-host workflow execute %s/%s%s --input %s", d.GetName(), w.GetName(), addrFlag, terminal.QuoteWord(sampleInput(w.GetInput())))
}
