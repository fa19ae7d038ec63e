package view

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Followed is the JSON of something that happened to an execution: one of its fields is set.
type Followed struct {
	Entry     *Entry     `json:"entry,omitempty"`
	Line      *LogLine   `json:"line,omitempty"`
	Execution *Execution `json:"execution,omitempty"`
}

// LogLine is the JSON of a line logged by a workflow or an activity.
type LogLine struct {
	At       *time.Time `json:"at,omitempty"`
	Level    string     `json:"level"`
	Message  string     `json:"message"`
	Activity string     `json:"activity,omitempty"`
	Attempt  uint32     `json:"attempt,omitempty"`
	Dropped  uint32     `json:"dropped,omitempty"`
	Crashed  bool       `json:"crashed,omitempty"`
}

// FollowedOf is the shape of something that happened to an execution.
func FollowedOf(r *crusterv1.FollowExecutionResponse) Followed {
	switch {
	case r.GetEntry() != nil:
		e := EntryOf(r.GetEntry())
		return Followed{Entry: &e}
	case r.GetLine() != nil:
		l := r.GetLine()
		return Followed{Line: &LogLine{
			At:       timeOf(l.GetLogTime()),
			Level:    slog.Level(l.GetLevel()).String(),
			Message:  l.GetMessage(),
			Activity: l.GetActivity(),
			Attempt:  l.GetAttempt(),
			Dropped:  l.GetDropped(),
			Crashed:  l.GetCrashed(),
		}}
	default:
		e := ExecutionOf(r.GetExecution())
		return Followed{Execution: &e}
	}
}

// WriteFollowed writes a line for something that happened to an execution.
func WriteFollowed(w io.Writer, r *crusterv1.FollowExecutionResponse) error {
	switch {
	case r.GetEntry() != nil:
		e := r.GetEntry()
		v := EntryOf(e)
		what := v.Kind
		if v.OpKind != "" {
			what += " of " + strings.TrimSpace(v.OpKind+" "+v.Name)
		}
		_, err := fmt.Fprintf(
			w, "%s  %4d  %s: %s\n", timeText(e.GetJournalTime()), v.Seq, terminal.OneLine(terminal.Clip(what, 80)),
			terminal.OneLine(entryText(v)),
		)
		return err
	case r.GetLine() != nil:
		return writeLine(w, r.GetLine())
	default:
		e := r.GetExecution()
		v := ExecutionOf(e)
		text := string(v.State)
		if v.Error != nil {
			text += ": " + FirstLine(v.Error.Text())
		}
		_, err := fmt.Fprintf(
			w, "%s  run %s is %s\n", terminal.OneLine(v.Name), terminal.OneLine(terminal.Clip(e.GetRunId(), 8)),
			terminal.OneLine(text),
		)
		return err
	}
}

func writeLine(w io.Writer, l *crusterv1.LogLine) error {
	if l.GetDropped() > 0 {
		if _, err := fmt.Fprintf(w, "(%d lines are left out: they came too fast)\n", l.GetDropped()); err != nil ||
			l.GetMessage() == "" {
			return err
		}
	}
	from := "workflow"
	if l.GetCrashed() {
		from = "workflow, which crashed behind it"
	}
	if l.GetActivity() != "" {
		from = fmt.Sprintf("%s, attempt %d", l.GetActivity(), l.GetAttempt())
	}
	_, err := fmt.Fprintf(
		w, "%s  %4s  %s: %s\n", timeText(l.GetLogTime()), slog.Level(l.GetLevel()), terminal.OneLine(from),
		terminal.OneLine(l.GetMessage()),
	)
	return err
}
