package view

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Checked is the JSON of a check's finding for one execution.
type Checked struct {
	Execution string       `json:"execution"`
	State     client.State `json:"state"`
	Fits      bool         `json:"fits"`
	Reason    string       `json:"reason,omitempty"`
	Diff      *Diff        `json:"diff,omitempty"`
}

// CheckedOf returns the shape of a check's finding for one execution.
func CheckedOf(r *crusterv1.CheckModuleResponse) Checked {
	return Checked{
		Execution: r.GetExecution().GetName(),
		State:     client.StateOf(r.GetExecution().GetState()),
		Fits:      r.GetFits(),
		Reason:    r.GetReason(),
		Diff:      DiffOf(r.GetDiff()),
	}
}

// Check is the JSON of a whole check. It does not grow with the number of executions.
type Check struct {
	Deployment string          `json:"deployment"`
	Deployed   bool            `json:"deployed"`
	Fit        int             `json:"fit"`
	Differ     int             `json:"differ"`
	Workflows  []CheckWorkflow `json:"workflows"`
	Kinds      []*MisfitKind   `json:"kinds"`
	// Types says why a push would be refused because of the types of entities; empty if it would not be.
	Types string `json:"types,omitempty"`
	// There counts the executions in Fit that are on the module already, if Digest is known.
	There int `json:"there,omitempty"`
	// Skipped counts the executions not tried: see Skip.
	Skipped int `json:"skipped,omitempty"`

	// Digest of the module; empty if it is not known.
	Digest string `json:"-"`

	misfits Misfits
	// The first running and the first paused misfit; empty if there is none.
	running, paused string
	pausedCode      abi.Code // the code it is paused with
	skipped         string   // the first that was not tried
}

// CheckWorkflow is the JSON of how many executions of one workflow fit.
type CheckWorkflow struct {
	Workflow string `json:"workflow"`
	Fit      int    `json:"fit"`
	Differ   int    `json:"differ"`
}

// NewCheck is the summary of a check that has found nothing yet.
func NewCheck(deployment string) *Check {
	return &Check{Deployment: deployment, Deployed: true, Workflows: []CheckWorkflow{}, Kinds: []*MisfitKind{}}
}

// Add counts a check's finding for one execution.
func (c *Check) Add(r *crusterv1.CheckModuleResponse) {
	workflow := r.GetExecution().GetWorkflow()
	i, found := slices.BinarySearchFunc(c.Workflows, workflow, func(w CheckWorkflow, name string) int {
		return strings.Compare(w.Workflow, name)
	})
	if !found {
		c.Workflows = slices.Insert(c.Workflows, i, CheckWorkflow{Workflow: workflow})
	}
	if r.GetFits() {
		c.Fit++
		c.Workflows[i].Fit++
		if c.Digest != "" && r.GetExecution().GetDigest() == c.Digest {
			c.There++
		}
		return
	}
	c.Differ++
	c.Workflows[i].Differ++
	c.misfits.Add(r.GetExecution(), r.GetReason(), r.GetDiff())
	c.Kinds = c.misfits.Kinds()
	switch {
	case client.StateOf(r.GetExecution().GetState()) != client.Paused:
		c.running = cmp.Or(c.running, r.GetExecution().GetName())
	case c.paused == "":
		c.paused, c.pausedCode = r.GetExecution().GetName(), abi.Code(r.GetExecution().GetError().GetCode())
	}
}

// Skip counts an execution that was not tried, as it is paused because a turn ran for too long.
func (c *Check) Skip(execution string) {
	c.Skipped++
	c.skipped = cmp.Or(c.skipped, execution)
}

// Open is how many open executions the check knows of.
func (c *Check) Open() int { return c.Fit + c.Differ + c.Skipped }

// WriteCheck writes a table of workflows, then the differences.
func WriteCheck(w io.Writer, c *Check) error {
	var rows [][]string
	for _, f := range c.Workflows {
		rows = append(rows, []string{f.Workflow, strconv.Itoa(f.Fit), strconv.Itoa(f.Differ)})
	}
	if !c.Deployed {
		_, err := io.WriteString(w, c.Deployment+" is not deployed yet, so it has no open executions\n")
		return err
	}
	if len(rows) == 0 {
		_, err := io.WriteString(w, c.Deployment+" has no open executions\n")
		return err
	}
	if err := terminal.Table(w, []string{"WORKFLOW", "FIT", "DIFFER"}, rows); err != nil {
		return err
	}
	return c.misfits.Write(w)
}
