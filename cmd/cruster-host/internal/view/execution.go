package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Execution is the JSON of an execution.
type Execution struct {
	Name            string          `json:"name"`
	Namespace       string          `json:"namespace"`
	Workflow        string          `json:"workflow"`
	Key             string          `json:"key"`
	ID              string          `json:"id"`
	Digest          string          `json:"digest"`
	State           client.State    `json:"state"`
	Existed         *bool           `json:"existed,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
	Error           *Error          `json:"error,omitempty"`
	CreatedAt       *time.Time      `json:"created_at,omitempty"`
	FinishedAt      *time.Time      `json:"finished_at,omitempty"`
	InterruptedAt   *time.Time      `json:"interrupt_requested_at,omitempty"`
	InterruptReason string          `json:"interrupt_reason,omitempty"`
	ParentID        string          `json:"parent_id,omitempty"`
	Parent          string          `json:"parent,omitempty"`
	RunID           string          `json:"run_id,omitempty"`
	Continued       uint32          `json:"continued,omitempty"`
	ChainID         string          `json:"chain_id,omitempty"`
	Attributes      map[string]any  `json:"attributes,omitempty"`
	Progress        *Progress       `json:"progress,omitempty"`
}

// ExecutionOf is the shape of an execution.
func ExecutionOf(e *crusterv1.Execution) Execution {
	return Execution{
		Name:            e.GetName(),
		Namespace:       e.GetNamespace(),
		Workflow:        e.GetWorkflow(),
		Key:             e.GetKey(),
		ID:              e.GetId(),
		Digest:          e.GetDigest(),
		State:           client.StateOf(e.GetState()),
		Result:          payloadJSON(e.GetResult()),
		Error:           failureOf(e.GetError()),
		CreatedAt:       timeOf(e.GetCreateTime()),
		FinishedAt:      timeOf(e.GetEndTime()),
		InterruptedAt:   timeOf(e.GetInterruption().GetRequestTime()),
		InterruptReason: e.GetInterruption().GetReason(),
		ParentID:        e.GetParentId(),
		Parent:          e.GetParent(),
		RunID:           e.GetRunId(),
		Continued:       e.GetContinued(),
		ChainID:         e.GetChainId(),
		Attributes:      attributesOf(e.GetAttributes()),
		Progress:        progressOf(e.GetProgress()),
	}
}

// StartedExecutionOf is ExecutionOf for an answer to a start, which tells whether the execution had been started
// before.
func StartedExecutionOf(e *crusterv1.Execution, existed bool) Execution {
	v := ExecutionOf(e)
	v.Existed = &existed
	return v
}

// WriteExecution writes how far an execution is.
func WriteExecution(w io.Writer, e *crusterv1.Execution, addrFlag string) error {
	return terminal.Lines(w, executionLines(e, addrFlag)...)
}

func executionLines(e *crusterv1.Execution, addrFlag string) []terminal.Line {
	v := ExecutionOf(e)
	all := []terminal.Line{
		{Name: "execution", Value: terminal.OneLine(v.Name)},
		{Name: "state", Value: string(v.State)},
		{Name: "created", Value: timeText(e.GetCreateTime())},
		{Name: "finished", Value: timeText(e.GetEndTime())},
		{Name: "module", Value: shortDigest(v.Digest)},
		{Name: "result", Value: Pretty(v.Result)},
	}
	if v.Error != nil {
		all = append(all, terminal.Line{Name: "error", Value: v.Error.lines()},
			terminal.Line{Name: "hint", Value: v.Error.Hint})
	}
	if v.InterruptedAt != nil {
		asked := timeText(e.GetInterruption().GetRequestTime())
		if v.InterruptReason != "" {
			asked += " " + terminal.OneLine(v.InterruptReason)
		}
		all = append(all, terminal.Line{Name: "interrupt", Value: asked})
	}
	if v.Continued > 0 {
		all = append(all, terminal.Line{
			Name: "continued", Value: fmt.Sprintf("%d times, since run %s", v.Continued, v.ChainID),
		})
	}
	if v.State == client.Paused {
		all = append(all, terminal.Line{
			Name: "next", Value: strings.Join(RecoveryCommands(pauseCode(v.Error), v.Name, addrFlag), "\n"),
		})
	}
	all = append(all, publishedLines(e.GetAttributes(), e.GetProgress())...)
	if parent := cmp.Or(v.Parent, v.ParentID); parent != "" {
		all = append(all, terminal.Line{Name: "parent", Value: terminal.OneLine(parent)})
	}
	return all
}

func pauseCode(e *Error) abi.Code {
	if e == nil {
		return ""
	}
	return abi.Code(e.Code)
}

// WriteStart writes which execution a start made or found.
func WriteStart(w io.Writer, v Execution, addrFlag string) error {
	existed := v.Existed != nil && *v.Existed
	next := WaitCommand(v.Name, addrFlag)
	if existed && (v.State == client.Failed || v.State == client.Interrupted) {
		next = restartCommand(v.Name, addrFlag)
	}
	return terminal.Lines(w,
		terminal.Line{Name: "execution", Value: terminal.OneLine(v.Name)},
		terminal.Line{Name: "state", Value: string(v.State)},
		terminal.Line{Name: "existed", Value: terminal.YesNo(existed)},
		terminal.Line{Name: "next", Value: next},
	)
}

// ExistedNote tells a caller that began to wait at a time that the outcome is not of its own start;
// empty if it may be: a repeated call finds the execution it started itself.
func ExistedNote(e *crusterv1.Execution, began time.Time, addrFlag string) string {
	name, state := terminal.OneLine(e.GetName()), client.StateOf(e.GetState())
	switch {
	case state.Final() && e.GetEndTime().AsTime().Before(began):
		return fmt.Sprintf(
			"note: %s had finished before (%s %s); this is its outcome. A new run: '%s' or --if-finished restart",
			name, state, timeText(e.GetEndTime()), restartCommand(name, addrFlag),
		)
	case e.GetContinued() == 0 && !e.GetCreateTime().AsTime().Before(began):
		return ""
	case state == client.Paused:
		return fmt.Sprintf("note: %s was started before; its input was not replaced", name)
	default:
		return fmt.Sprintf("note: %s was running already; its input was not replaced", name)
	}
}

// WriteRestart writes which execution a restart began again. That it existed is plain; only a request
// that was repeated found a run that it had started before.
func WriteRestart(w io.Writer, v Execution, addrFlag string) error {
	lines := []terminal.Line{
		{Name: "execution", Value: terminal.OneLine(v.Name)},
		{Name: "state", Value: string(v.State)},
		{Name: "run", Value: v.RunID},
	}
	if v.Existed != nil && *v.Existed {
		lines = append(lines, terminal.Line{Name: "restarted", Value: "before, by the same request"})
	}
	return terminal.Lines(w, append(lines, terminal.Line{Name: "next", Value: WaitCommand(v.Name, addrFlag)})...)
}

// WriteExecutions writes a table of executions. Published values have columns if any execution has
// them.
func WriteExecutions(w io.Writer, executions []*crusterv1.Execution) error {
	var rows [][]string
	publish := slices.ContainsFunc(executions, func(e *crusterv1.Execution) bool {
		return e.GetProgress() != nil || len(e.GetAttributes()) > 0
	})
	header := []string{"EXECUTION", "STATE", "CREATED", "FINISHED"}
	if publish {
		header = append(header, "PROGRESS", "ATTRIBUTES")
	}
	for _, e := range executions {
		v := ExecutionOf(e)
		row := []string{v.Name, string(v.State), timeText(e.GetCreateTime()), timeText(e.GetEndTime())}
		if publish {
			row = append(
				row, terminal.Clip(v.Progress.text(), 40), terminal.Clip(attributesText(e.GetAttributes()), 60),
			)
		}
		rows = append(rows, append(row, terminal.Clip(v.Error.cause(), 60)))
	}
	return terminal.Table(w, append(header, "ERROR"), rows)
}
