package view

import (
	"fmt"
	"io"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Watched is the JSON of what becomes of a folder that `dev` watches.
type Watched struct {
	Deployment string  `json:"deployment"`
	Event      string  `json:"event"`
	File       string  `json:"file,omitempty"`
	Bytes      int     `json:"bytes,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	Version    int64   `json:"version,omitempty"`
	Digest     string  `json:"digest,omitempty"`
	Check      *Check  `json:"check,omitempty"`
	Error      string  `json:"error,omitempty"`
	Output     string  `json:"output,omitempty"`
}

// WriteOpenAfterChange says what a change of the code means for open executions, and what
// to type. A check of nil found none.
func WriteOpenAfterChange(w io.Writer, c *Check, addrFlag string) error {
	if c == nil {
		return nil
	}
	name := terminal.OneLine(c.Deployment)
	if c.Differ > 0 {
		if err := WriteCheck(w, c); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s: %d of %d open executions do not fit this code, and stay on the module that they are on\n", name, c.Differ, c.Fit+c.Differ)
		c.writeMisfitSteps(w, addrFlag)
	}
	if c.Fit == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, `%s: %d of %d open executions fit this code, and stay on the module that they are on
  to move them to it:         cruster-host workflow move --workflow %s%s
`, name, c.Fit, c.Fit+c.Differ, terminal.QuoteWord(c.Deployment+"/"), addrFlag)
	return err
}

// writeMisfitSteps writes what to do about executions that do not fit. One that is paused is not
// ended by a request to stop alone.
func (c *Check) writeMisfitSteps(w io.Writer, addrFlag string) {
	line := func(label, step string) { fmt.Fprintf(w, "  %-28s%s\n", label+":", step) }
	if c.running != "" {
		line("to have them fit", "keep the steps that have run, or guard the change with Patched, and save")
	}
	if c.paused != "" {
		line("to have paused ones fit", "fix what they are paused for, keep the steps that have run, and save")
	}
	line("to run one from a step on", "cruster-host workflow fork "+terminal.QuoteWord(terminal.OneLine(c.Kinds[0].First))+" --at SEQ --to latest"+addrFlag)
	if c.running != "" {
		line("to end one", "cruster-host workflow interrupt "+terminal.QuoteWord(terminal.OneLine(c.running))+addrFlag)
	}
	if c.paused != "" {
		line("to end a paused one", stopCommand(c.paused)+addrFlag)
		line("or without its cleanup", failCommand(c.paused)+addrFlag)
	}
}

// WriteRedeployed says what was deployed and, the first time, a command that runs it.
func WriteRedeployed(w io.Writer, d *crusterv1.Deployment, addrFlag string) error {
	name := terminal.OneLine(d.GetName())
	if _, err := fmt.Fprintf(w, "%s: deployed version %d, digest %s\n", name, d.GetVersion(), shortDigest(d.GetDigest())); err != nil {
		return err
	}
	if len(d.GetWorkflows()) == 0 || d.GetVersion() > 1 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s: next:  %s\n", name, executeCommand(d, d.GetWorkflows()[0], addrFlag))
	return err
}
