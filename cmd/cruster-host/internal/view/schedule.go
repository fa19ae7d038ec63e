package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Schedule is the JSON of a schedule.
type Schedule struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Workflow  string          `json:"workflow"`
	Input     json.RawMessage `json:"input,omitempty"`
	Times     string          `json:"times"`
	TimeZone  string          `json:"time_zone"`
	Overlap   string          `json:"overlap"`
	MaxQueued int32           `json:"max_queued,omitempty"`
	Jitter    string          `json:"jitter,omitempty"`
	CatchUp   string          `json:"catch_up,omitempty"`
	NotBefore *time.Time      `json:"not_before,omitempty"`
	NotAfter  *time.Time      `json:"not_after,omitempty"`
	MaxRuns   int64           `json:"max_runs,omitempty"`
	Paused    bool            `json:"paused"`
	Note      string          `json:"note,omitempty"`
	CreatedAt *time.Time      `json:"created_at,omitempty"`
	UpdatedAt *time.Time      `json:"updated_at,omitempty"`
	Next      []time.Time     `json:"next"`
	Recent    []ScheduleRun   `json:"recent"`
	Open      []string        `json:"open"`
	Waiting   int             `json:"waiting"`
	Backfills int32           `json:"backfills"`
	Started   int64           `json:"started"`
	Skipped   int64           `json:"skipped"`
	Missed    int64           `json:"missed"`
	Refused   int64           `json:"refused"`
}

// ScheduleRun is the JSON of the outcome of a start.
type ScheduleRun struct {
	At        *time.Time   `json:"at"`
	Cause     string       `json:"cause"`
	Outcome   string       `json:"outcome"`
	Count     int64        `json:"count,omitempty"`
	Execution string       `json:"execution,omitempty"`
	State     client.State `json:"state,omitempty"`
	Error     *Error       `json:"error,omitempty"`
}

// ScheduleOf is the shape of a schedule.
func ScheduleOf(s *crusterv1.Schedule) Schedule {
	spec := s.GetSpec()
	v := Schedule{
		Name:      s.GetName(),
		Namespace: s.GetNamespace(),
		Workflow:  spec.GetWorkflow(),
		Input:     payloadJSON(spec.GetInput()),
		Times:     timesText(spec),
		TimeZone:  spec.GetTimeZone(),
		Overlap:   lastWord(spec.GetOverlap().String(), "OVERLAP_"),
		MaxQueued: spec.GetMaxQueued(),
		Jitter:    lengthText(spec.GetJitter()),
		CatchUp:   lengthText(spec.GetCatchUp()),
		NotBefore: timeOf(spec.GetStartTime()),
		NotAfter:  timeOf(spec.GetEndTime()),
		MaxRuns:   spec.GetMaxRuns(),
		Paused:    s.GetPaused(),
		Note:      s.GetNote(),
		CreatedAt: timeOf(s.GetCreateTime()),
		UpdatedAt: timeOf(s.GetUpdateTime()),
		Next:      []time.Time{},
		Recent:    []ScheduleRun{},
		Open:      append([]string{}, s.GetOpen()...),
		Waiting:   len(s.GetWaiting()),
		Backfills: s.GetBackfills(),
		Started:   s.GetStarted(),
		Skipped:   s.GetSkipped(),
		Missed:    s.GetMissed(),
		Refused:   s.GetRefused(),
	}
	for _, at := range s.GetUpcomingTimes() {
		v.Next = append(v.Next, at.AsTime())
	}
	for _, run := range s.GetRecent() {
		v.Recent = append(v.Recent, ScheduleRunOf(run))
	}
	return v
}

// ScheduleRunOf returns the shape of the outcome of a start.
func ScheduleRunOf(run *crusterv1.ScheduleRun) ScheduleRun {
	return ScheduleRun{
		At:        timeOf(run.GetTickTime()),
		Cause:     lastWord(run.GetCause().String(), "START_CAUSE_"),
		Outcome:   startText(run.GetOutcome()),
		Count:     run.GetCount(),
		Execution: run.GetExecution(),
		State:     client.StateOf(run.GetState()),
		Error:     ErrorOf(run.GetError()),
	}
}

// startText names the outcome of a start; a start without an outcome waits.
func startText(o crusterv1.ScheduleOutcome) string {
	if o == crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_UNSPECIFIED {
		return "waiting"
	}
	return lastWord(o.String(), "SCHEDULE_OUTCOME_")
}

// lastWord is the name of a value of an enumeration as people write it.
func lastWord(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

func timesText(spec *crusterv1.ScheduleSpec) string {
	switch t := spec.GetTimes().(type) {
	case *crusterv1.ScheduleSpec_Cron:
		return t.Cron
	case *crusterv1.ScheduleSpec_Interval:
		text := "every " + lengthText(t.Interval.GetEvery())
		if offset := lengthText(t.Interval.GetOffset()); offset != "" {
			text += " + " + offset
		}
		return text
	case *crusterv1.ScheduleSpec_Always:
		return fmt.Sprintf(
			"always, %s to %s apart", lengthText(t.Always.GetMinPause()), lengthText(t.Always.GetMaxPause()),
		)
	default:
		return ""
	}
}

// lengthText is a duration as people write it; empty for none.
func lengthText(d *durationpb.Duration) string {
	if d.AsDuration() == 0 {
		return ""
	}
	text := d.AsDuration().String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// WriteSchedule writes a schedule for people.
func WriteSchedule(w io.Writer, s *crusterv1.Schedule) error {
	v := ScheduleOf(s)
	var next []string
	for _, at := range s.GetUpcomingTimes() {
		next = append(next, timeText(at))
	}
	state := "active"
	if v.Paused {
		state = "paused"
	}
	lines := []terminal.Line{
		{Name: "schedule", Value: terminal.OneLine(v.Name)},
		{Name: "workflow", Value: terminal.OneLine(v.Workflow)},
		{Name: "input", Value: Pretty(v.Input)},
		{Name: "times", Value: terminal.OneLine(v.Times)},
		{Name: "time zone", Value: terminal.OneLine(v.TimeZone)},
		{Name: "overlap", Value: overlapText(&v)},
		{Name: "jitter", Value: v.Jitter},
		{Name: "catch-up", Value: v.CatchUp},
		{Name: "not before", Value: timeText(s.GetSpec().GetStartTime())},
		{Name: "not after", Value: timeText(s.GetSpec().GetEndTime())},
		{Name: "max runs", Value: countText(v.MaxRuns)},
		{Name: "state", Value: state},
		{Name: "note", Value: noteText(v.Note)},
		{
			Name: "counts",
			Value: fmt.Sprintf(
				"%d started, %d skipped, %d missed, %d refused", v.Started, v.Skipped, v.Missed, v.Refused,
			),
		},
		{Name: "waiting", Value: countText(int64(v.Waiting))},
		{Name: "backfills", Value: countText(int64(v.Backfills))},
		{Name: "next", Value: strings.Join(next, "\n")},
	}
	if err := terminal.Lines(w, lines...); err != nil || len(s.GetRecent()) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return WriteScheduleRuns(w, s.GetRecent())
}

// SchedulesOf is the shape of schedules; nil for none.
func SchedulesOf(schedules []*crusterv1.Schedule) (all []Schedule) {
	for _, s := range schedules {
		all = append(all, ScheduleOf(s))
	}
	return all
}

// WriteDeclared writes the schedules of a deployment below the contents of its module.
func WriteDeclared(w io.Writer, schedules []*crusterv1.Schedule) error {
	for _, s := range schedules {
		v := ScheduleOf(s)
		next := "-"
		if len(s.GetUpcomingTimes()) > 0 {
			next = timeText(s.GetUpcomingTimes()[0])
		}
		if v.Paused {
			next = "paused"
		}
		if _, err := fmt.Fprintf(w, "\nschedule %s\n  workflow: %s\n  times:    %s (%s)\n  next:     %s\n",
			terminal.OneLine(v.Name), terminal.OneLine(v.Workflow), terminal.OneLine(v.Times),
			terminal.OneLine(v.TimeZone), next,
		); err != nil {
			return err
		}
	}
	return nil
}

// noteText is a note on one line; empty for none.
func noteText(note string) string {
	if note == "" {
		return ""
	}
	return terminal.OneLine(note)
}

func overlapText(v *Schedule) string {
	if v.MaxQueued == 0 {
		return v.Overlap
	}
	return fmt.Sprintf("%s, up to %d", v.Overlap, v.MaxQueued)
}

// countText is a number; empty for none.
func countText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// WriteScheduleRuns writes a table of runs.
func WriteScheduleRuns(w io.Writer, runs []*crusterv1.ScheduleRun) error {
	var rows [][]string
	for _, run := range runs {
		v := ScheduleRunOf(run)
		outcome := v.Outcome
		if v.Count > 1 {
			outcome += " ×" + strconv.FormatInt(v.Count, 10)
		}
		rows = append(rows, []string{
			timeText(run.GetTickTime()), v.Cause, outcome, string(v.State), v.Execution, terminal.Clip(
				v.Error.Text(), 60,
			),
		})
	}
	return terminal.Table(w, []string{"AT", "CAUSE", "OUTCOME", "STATE", "EXECUTION", "ERROR"}, rows)
}

// WriteSchedules writes a table of schedules.
func WriteSchedules(w io.Writer, schedules []*crusterv1.Schedule) error {
	var rows [][]string
	for _, s := range schedules {
		v := ScheduleOf(s)
		next, last := "", ""
		if len(s.GetUpcomingTimes()) > 0 {
			next = timeText(s.GetUpcomingTimes()[0])
		}
		if v.Paused {
			next = "paused"
		}
		if n := len(s.GetRecent()); n > 0 {
			last = timeText(s.GetRecent()[n-1].GetTickTime()) + " " + v.Recent[n-1].Outcome
		}
		rows = append(rows, []string{v.Name, v.Workflow, v.Times, v.TimeZone, next, last})
	}
	return terminal.Table(w, []string{"SCHEDULE", "WORKFLOW", "TIMES", "ZONE", "NEXT", "LAST"}, rows)
}

// ScheduleDone is the JSON of a command's effect on a schedule.
type ScheduleDone struct {
	Done     string `json:"done"`
	Schedule string `json:"schedule"`
	Ticks    *int32 `json:"ticks,omitempty"`
}
