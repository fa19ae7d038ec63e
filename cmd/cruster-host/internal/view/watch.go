package view

import (
	"fmt"
	"io"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Watched is the JSON of the state of a folder that `dev` watches.
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

// WriteOpenAfterChange writes the effect of a code change on open executions, and the commands to
// type. A check of nil found none.
func WriteOpenAfterChange(w io.Writer, c *Check, addrFlag string) error {
	if c == nil {
		return nil
	}
	name := terminal.OneLine(c.Deployment)
	if c.Differ > 0 {
		if err := WriteCheck(w, c); err != nil {
			return err
		}
		fmt.Fprintf(
			w, "\n%s: %d of %d open executions do not fit this code, and stay on the module that they are on\n", name,
			c.Differ, c.Open(),
		)
		c.writeMisfitSteps(w, addrFlag)
	}
	if c.Skipped > 0 {
		fmt.Fprintf(
			w,
			"%s: %d of %d open executions are paused because a turn ran for too long, and were not tried on this code\n",
			name, c.Skipped, c.Open(),
		)
		writeStep(w, "to try one", moveCommand(c.skipped)+addrFlag)
	}
	if c.There > 0 {
		fmt.Fprintf(w, "%s: %d of %d open executions are on this module already\n", name, c.There, c.Open())
	}
	if c.Fit > c.There {
		fmt.Fprintf(
			w, "%s: %d of %d open executions fit this code, and stay on the module that they are on\n", name,
			c.Fit-c.There, c.Open(),
		)
		writeStep(
			w, "to move them to it",
			"cruster-host workflow move --workflow "+terminal.QuoteWord(c.Deployment+"/")+addrFlag,
		)
	}
	return nil
}

// writeStep writes a command or an advice below its subject.
func writeStep(w io.Writer, label, step string) { fmt.Fprintf(w, "  %-28s%s\n", label+":", step) }

// writeMisfitSteps writes the remedies for executions that do not fit. A request to stop alone does
// not end a paused one.
func (c *Check) writeMisfitSteps(w io.Writer, addrFlag string) {
	if c.running != "" {
		writeStep(w, "to have them fit", "keep the steps that have run, or guard the change with Patched, and save")
	}
	if c.paused != "" {
		writeStep(w, "to have paused ones fit", "fix what they are paused for, keep the steps that have run, and save")
	}
	writeStep(
		w, "to run one from a step on",
		"cruster-host workflow fork "+terminal.QuoteWord(terminal.OneLine(c.Kinds[0].First))+" --at SEQ --to latest"+
			addrFlag,
	)
	if c.running != "" {
		writeStep(
			w, "to end one",
			"cruster-host workflow interrupt "+terminal.QuoteWord(terminal.OneLine(c.running))+addrFlag,
		)
	}
	if c.paused != "" {
		fail := "to end a paused one"
		if stops, unless := canStop(c.pausedCode); stops {
			writeStep(w, fail, stopCommand(c.paused)+addrFlag+unless)
			fail = "or without its cleanup"
		}
		writeStep(w, fail, failCommand(c.paused)+addrFlag)
	}
}

// WriteRedeployed writes the new deployment and, the first time, a command that runs it.
func WriteRedeployed(w io.Writer, d *crusterv1.Deployment, first bool, addrFlag string) error {
	return writeDeployed(
		w, d, fmt.Sprintf("deployed version %d, digest %s", d.GetVersion(), shortDigest(d.GetDigest())), first,
		addrFlag,
	)
}

// WriteUnchanged is WriteRedeployed for a module that was deployed before.
func WriteUnchanged(w io.Writer, d *crusterv1.Deployment, first bool, addrFlag string) error {
	return writeDeployed(
		w, d,
		fmt.Sprintf(
			"unchanged: it is deployed already, as version %d, digest %s", d.GetVersion(), shortDigest(d.GetDigest()),
		),
		first, addrFlag,
	)
}

func writeDeployed(w io.Writer, d *crusterv1.Deployment, what string, first bool, addrFlag string) error {
	name := terminal.OneLine(d.GetName())
	_, err := fmt.Fprintf(w, "%s: %s\n", name, what)
	if err != nil || !first || len(d.GetWorkflows()) == 0 {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: next:  %s\n", name, executeCommand(d, d.GetWorkflows()[0], addrFlag))
	return err
}
