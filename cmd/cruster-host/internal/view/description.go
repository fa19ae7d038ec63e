package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Description is the JSON of an execution with its waits.
type Description struct {
	Execution
	Input     json.RawMessage   `json:"input,omitempty"`
	Entries   uint64            `json:"entries"`
	Limit     uint64            `json:"entry_limit,omitempty"`
	Fuel      int64             `json:"fuel,omitempty"`
	Resident  bool              `json:"resident"`
	Pending   []PendingOp       `json:"pending"`
	Deferreds []SettledDeferred `json:"deferreds"`
	Patches   []Patch           `json:"patches"`
	Unread    map[string]uint32 `json:"unread,omitempty"`
	// Unanswered counts updates.
	Unanswered map[string]uint32          `json:"unanswered,omitempty"`
	Published  map[string]json.RawMessage `json:"published,omitempty"`
	// How many of both are left out.
	PendingOmitted   uint32 `json:"pending_omitted,omitempty"`
	DeferredsOmitted uint32 `json:"deferreds_omitted,omitempty"`
	// Circle is the executions with which it waits in a circle, itself first.
	Circle []string `json:"circle,omitempty"`
	// Earlier are its earlier runs; more tells whether there are others.
	Earlier     []Execution `json:"earlier,omitempty"`
	EarlierMore bool        `json:"earlier_more,omitempty"`
}

// Patch is the JSON of an execution's decision about a change of the code.
type Patch struct {
	ID    string `json:"id"`
	Taken bool   `json:"taken"`
	Seq   uint64 `json:"seq"`
}

// PendingOp is the JSON of an op that an execution waits for.
type PendingOp struct {
	Number    uint32     `json:"number"`
	Kind      string     `json:"kind"`
	Name      string     `json:"name,omitempty"`
	Key       string     `json:"key,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	DueAt     *time.Time `json:"due_at,omitempty"`
	Attempt   uint32     `json:"attempt,omitempty"`
	LastError *Error     `json:"last_error,omitempty"`
	// Callee is the execution that a call waits for.
	Callee      string       `json:"callee,omitempty"`
	CalleeState client.State `json:"callee_state,omitempty"`
}

// SettledDeferred is the JSON of a promise that was resolved or rejected.
type SettledDeferred struct {
	Name  string          `json:"name"`
	At    *time.Time      `json:"at,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Error *Error          `json:"error,omitempty"`
	// Omitted is how many bytes of value or error are left out.
	Omitted uint64 `json:"omitted_bytes,omitempty"`
}

// DescriptionOf is the shape of a description.
func DescriptionOf(d *crusterv1.GetExecutionResponse) Description {
	v := Description{
		Execution: ExecutionOf(d.GetExecution()),
		Input:     payloadJSON(d.GetDetails().GetInput()),
		Entries:   d.GetDetails().GetEntries(),
		Limit:     d.GetDetails().GetEntryLimit(),
		Fuel:      d.GetDetails().GetFuel(),
		Resident:  d.GetDetails().GetResident(),
		Pending:   []PendingOp{},
		Deferreds: []SettledDeferred{},
		Patches:   []Patch{},

		PendingOmitted:   d.GetDetails().GetPendingOmitted(),
		DeferredsOmitted: d.GetDetails().GetDeferredsOmitted(),
		Circle:           d.GetDetails().GetCircle(),
		EarlierMore:      d.GetDetails().GetEarlierMore(),
	}
	for _, e := range d.GetDetails().GetEarlier() {
		v.Earlier = append(v.Earlier, ExecutionOf(e))
	}
	for _, p := range d.GetDetails().GetPatches() {
		v.Patches = append(v.Patches, Patch{ID: p.GetId(), Taken: p.GetTaken(), Seq: p.GetSeq()})
	}
	for _, u := range d.GetDetails().GetUnread() {
		if v.Unread == nil {
			v.Unread = map[string]uint32{}
		}
		v.Unread[u.GetName()] = u.GetCount()
	}
	for _, u := range d.GetDetails().GetUnanswered() {
		if v.Unanswered == nil {
			v.Unanswered = map[string]uint32{}
		}
		v.Unanswered[u.GetName()] = u.GetCount()
	}
	if len(d.GetDetails().GetPublished()) > 0 {
		v.Published = stateOf(d.GetDetails().GetPublished())
	}
	for _, p := range d.GetDetails().GetPending() {
		op := PendingOp{
			Number:    p.GetNumber(),
			Kind:      p.GetKind(),
			Name:      p.GetName(),
			Key:       p.GetKey(),
			Since:     timeOf(p.GetIssueTime()),
			DueAt:     timeOf(p.GetDueTime()),
			Attempt:   p.GetAttempt(),
			LastError: ErrorOf(p.GetLastError()),
			Callee:    p.GetCallee(),
		}
		if op.Callee != "" {
			op.CalleeState = client.StateOf(p.GetCalleeState())
		}
		v.Pending = append(v.Pending, op)
	}
	for _, s := range d.GetDetails().GetDeferreds() {
		v.Deferreds = append(v.Deferreds, SettledDeferred{
			Name:    s.GetName(),
			At:      timeOf(s.GetSettleTime()),
			Value:   payloadJSON(s.GetValue()),
			Error:   ErrorOf(s.GetError()),
			Omitted: s.GetOmittedBytes(),
		})
	}
	return v
}

// journal says how long the journal is and, unless the execution has ended, that it comes near its
// limit or is there.
func (v *Description) journal() string {
	text := strconv.FormatUint(v.Entries, 10) + " entries"
	if v.State.Final() || v.Limit == 0 || !abi.IsLong(v.Entries, v.Limit) {
		return text
	}
	switch {
	case v.State == client.Paused && v.Entries >= v.Limit:
		return text + fmt.Sprintf("; it is at its limit of %d", v.Limit)
	case v.State == client.Paused:
		return text + fmt.Sprintf("; its limit is %d", v.Limit)
	case v.InterruptedAt != nil:
		return text + fmt.Sprintf("; it is paused at %d unless it ends", v.Limit)
	default:
		return text + fmt.Sprintf("; it is paused at %d unless it continues as a new run", v.Limit)
	}
}

// WriteDescription writes an execution, the ops that it waits for and its settled deferreds.
func WriteDescription(w io.Writer, d *crusterv1.GetExecutionResponse, addrFlag string) error {
	v := DescriptionOf(d)
	all := append(
		executionLines(d.GetExecution(), addrFlag), terminal.Line{Name: "run", Value: v.RunID},
		terminal.Line{Name: "input", Value: Pretty(v.Input)},
		terminal.Line{Name: "journal", Value: v.journal()},
		terminal.Line{Name: "in memory", Value: terminal.YesNo(v.Resident)},
	)
	if v.Fuel > 0 {
		all = append(all, terminal.Line{Name: "fuel", Value: strconv.FormatInt(v.Fuel, 10)})
	}
	if len(v.Circle) > 0 {
		all = append(all, terminal.Line{Name: "circle", Value: circleText(v.Circle)})
	}
	if err := terminal.Lines(w, all...); err != nil {
		return err
	}
	if err := writePending(w, d.GetDetails().GetPending()); err != nil {
		return err
	}
	writeOmitted(w, v.PendingOmitted)
	if err := writePatches(w, v.Patches); err != nil {
		return err
	}
	if err := errors.Join(
		writeUnread(w, d.GetDetails().GetUnread()), writeUnanswered(w, d.GetDetails().GetUnanswered()), writeState(
			w, d.GetDetails().GetPublished(),
		),
		writeEarlier(w, d),
	); err != nil {
		return err
	}
	if len(v.Deferreds) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nsettled deferreds")
	var rows [][]string
	for i, s := range v.Deferreds {
		rows = append(rows, []string{
			s.Name, timeText(d.GetDetails().GetDeferreds()[i].GetSettleTime()), outcomeText(
				s.Value, s.Error, s.Omitted,
			),
		})
	}
	if err := terminal.Table(w, []string{"NAME", "AT", "OUTCOME"}, rows); err != nil {
		return err
	}
	writeOmitted(w, v.DeferredsOmitted)
	return nil
}

// circleText lists the waits of a circle, back to the first.
func circleText(circle []string) string {
	path := ""
	for _, name := range circle {
		path += terminal.OneLine(name) + " -> "
	}
	return path + terminal.OneLine(circle[0]) +
		"\neach waits for the result of the next: interrupt one of them to end it"
}

// writeEarlier writes the earlier runs.
func writeEarlier(w io.Writer, d *crusterv1.GetExecutionResponse) error {
	if len(d.GetDetails().GetEarlier()) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nearlier runs")
	var rows [][]string
	for _, e := range d.GetDetails().GetEarlier() {
		v := ExecutionOf(e)
		rows = append(rows, []string{
			v.RunID, string(v.State), timeText(e.GetCreateTime()), timeText(e.GetEndTime()),
			terminal.Clip(FirstLine(v.Error.Text()), 60),
		})
	}
	if err := terminal.Table(w, []string{"RUN", "STATE", "STARTED", "FINISHED", "ERROR"}, rows); err != nil {
		return err
	}
	if d.GetDetails().GetEarlierMore() {
		fmt.Fprintln(w, "and more")
	}
	return nil
}

// writeOmitted says how many rows a table would have besides.
func writeOmitted(w io.Writer, n uint32) {
	if n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
}

// writePending writes the waits of an execution. Other executions have columns if it waits for any;
// their names are whole, for the next command.
func writePending(w io.Writer, pending []*crusterv1.PendingOp) error {
	var rows [][]string
	header := []string{"OP", "KIND", "NAME", "KEY", "SINCE", "DUE", "ATTEMPT", "LAST ERROR"}
	calls := slices.ContainsFunc(pending, func(p *crusterv1.PendingOp) bool { return p.GetCallee() != "" })
	if calls {
		header = append(header, "EXECUTION", "STATE")
	}
	for _, p := range pending {
		if listens(p) {
			continue
		}
		row := []string{
			strconv.FormatUint(uint64(p.GetNumber()), 10), p.GetKind(), terminal.Clip(p.GetName(), 40),
			terminal.Clip(p.GetKey(), 24),
			timeText(p.GetIssueTime()), timeText(p.GetDueTime()), count(p.GetAttempt()),
			terminal.Clip(ErrorOf(p.GetLastError()).Text(), 60),
		}
		switch {
		case p.GetCallee() != "":
			row = append(row, p.GetCallee(), string(client.StateOf(p.GetCalleeState())))
		case calls:
			row = append(row, "", "")
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nwaits for")
	return terminal.Table(w, header, rows)
}

func writePatches(w io.Writer, patches []Patch) error {
	if len(patches) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nchanges of the code")
	var rows [][]string
	for _, p := range patches {
		rows = append(rows, []string{terminal.Clip(p.ID, 60), terminal.YesNo(p.Taken), strconv.FormatUint(p.Seq, 10)})
	}
	return terminal.Table(w, []string{"PATCH", "TAKEN", "ENTRY"}, rows)
}

func writeUnread(w io.Writer, unread []*crusterv1.UnreadSignals) error {
	if len(unread) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nunread signals")
	var rows [][]string
	for _, u := range unread {
		rows = append(rows, []string{terminal.Clip(u.GetName(), 60), count(u.GetCount())})
	}
	return terminal.Table(w, []string{"SIGNAL", "UNREAD"}, rows)
}

// count is a number for a column; empty for zero.
func count(n uint32) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10)
}
