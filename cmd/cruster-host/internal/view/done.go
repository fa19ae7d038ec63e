package view

import (
	"fmt"
	"io"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Done is the JSON of a command's effect on an execution or one of its deferreds, or of the message
// it sent.
type Done struct {
	Deferred  string `json:"deferred,omitempty"`
	Done      string `json:"done"`
	Execution string `json:"execution"`
	// Run is the id of the one run that it was done to; empty if it was done to the execution.
	Run    string `json:"run_id,omitempty"`
	Signal string `json:"signal,omitempty"`
}

// WriteDone writes the effect, in the words of text.
func WriteDone(w io.Writer, v Done, text string) error {
	target := v.Execution
	if v.Run != "" {
		target = "run " + v.Run + " of " + target
	}
	if v.Deferred != "" {
		target += " " + v.Deferred
	}
	if v.Signal != "" {
		target += " " + v.Signal
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", text, terminal.OneLine(target))
	return err
}
