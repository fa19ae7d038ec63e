package view

import (
	"io"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Moved is the JSON of the outcome of an execution's move.
type Moved struct {
	Execution string       `json:"execution"`
	State     client.State `json:"state,omitempty"`
	Moved     bool         `json:"moved"`
	From      string       `json:"from,omitempty"`
	Digest    string       `json:"digest,omitempty"`
	Error     *Error       `json:"error,omitempty"`
	Diff      *Diff        `json:"diff,omitempty"`
}

// MovedOf is the shape of a result.
func MovedOf(r *crusterv1.MoveResult) Moved {
	return Moved{
		Execution: r.GetExecution().GetName(),
		State:     client.StateOf(r.GetExecution().GetState()),
		Moved:     r.GetError() == nil && !stayed(r),
		From:      r.GetFromDigest(),
		Digest:    r.GetExecution().GetDigest(),
		Error:     ErrorOf(r.GetError()),
		Diff:      DiffOf(r.GetDiff()),
	}
}

// stayed tells whether an execution was on the module already.
func stayed(r *crusterv1.MoveResult) bool {
	return r.GetError() == nil && r.GetFromDigest() == r.GetExecution().GetDigest()
}

// WriteMoves writes a table of the outcomes of moves, then the differences.
func WriteMoves(w io.Writer, results []*crusterv1.MoveResult) error {
	if len(results) == 0 {
		_, err := io.WriteString(w, "there was nothing to move\n")
		return err
	}
	var rows [][]string
	var misfits Misfits
	for _, r := range results {
		v := MovedOf(r)
		row := []string{v.Execution, string(v.State), shortDigest(v.From), shortDigest(v.Digest), "moved"}
		switch {
		case stayed(r):
			row[4] = "was there already"
		case !v.Moved:
			row[3], row[4] = "", terminal.Clip(FirstLine(v.Error.Text()), 80)
		}
		if r.GetDiff() != nil {
			misfits.Add(r.GetExecution(), FirstLine(v.Error.Message), r.GetDiff())
		}
		rows = append(rows, row)
	}
	if err := terminal.Table(w, []string{"EXECUTION", "STATE", "FROM", "TO", "RESULT"}, rows); err != nil {
		return err
	}
	return misfits.Write(w)
}

// WriteMove writes where an execution is after it was to be moved.
func WriteMove(w io.Writer, r *crusterv1.MoveResult, addrFlag string) error {
	e := r.GetExecution()
	what, module := "moved", shortDigest(e.GetDigest())
	if stayed(r) {
		what, module = "unchanged", module+", where it was already"
	}
	return terminal.Lines(w,
		terminal.Line{Name: what, Value: terminal.OneLine(e.GetName())},
		terminal.Line{Name: "module", Value: module},
		terminal.Line{Name: "state", Value: string(client.StateOf(e.GetState()))},
		terminal.Line{Name: "next", Value: WaitCommand(e.GetName(), addrFlag)},
	)
}

// WriteFork writes which execution a fork made.
func WriteFork(w io.Writer, e *crusterv1.Execution, addrFlag string) error {
	return terminal.Lines(w,
		terminal.Line{Name: "execution", Value: terminal.OneLine(e.GetName())},
		terminal.Line{Name: "module", Value: shortDigest(e.GetDigest())},
		terminal.Line{Name: "state", Value: string(client.StateOf(e.GetState()))},
		terminal.Line{Name: "next", Value: WaitCommand(e.GetName(), addrFlag)},
	)
}
