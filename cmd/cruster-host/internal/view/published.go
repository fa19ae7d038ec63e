package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Published is the JSON of an execution's published values.
type Published struct {
	State      map[string]json.RawMessage `json:"state"`
	Attributes map[string]any             `json:"attributes,omitempty"`
	Progress   *Progress                  `json:"progress,omitempty"`
	At         *time.Time                 `json:"at,omitempty"`
}

// Progress is the JSON of how far an execution is.
type Progress struct {
	Done  uint64 `json:"done"`
	Total uint64 `json:"total,omitempty"`
	Note  string `json:"note,omitempty"`
}

// PublishedOf returns the shape of an execution's published values.
func PublishedOf(p *crusterv1.GetExecutionStateResponse) Published {
	return Published{
		State:      stateOf(p.GetState()),
		Attributes: attributesOf(p.GetAttributes()),
		Progress:   progressOf(p.GetProgress()),
		At:         timeOf(p.GetUpdateTime()),
	}
}

func stateOf(state []*crusterv1.PublishedState) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for _, s := range state {
		values[s.GetName()] = payloadJSON(s.GetValue())
	}
	return values
}

func attributesOf(attributes []*crusterv1.Attribute) map[string]any {
	if len(attributes) == 0 {
		return nil
	}
	values := map[string]any{}
	for _, a := range attributes {
		switch v := a.GetValue().(type) {
		case *crusterv1.Attribute_Text:
			values[a.GetName()] = v.Text
		case *crusterv1.Attribute_Number:
			values[a.GetName()] = v.Number
		case *crusterv1.Attribute_Boolean:
			values[a.GetName()] = v.Boolean
		case *crusterv1.Attribute_Time:
			values[a.GetName()] = timeOf(v.Time)
		}
	}
	return values
}

func progressOf(p *crusterv1.Progress) *Progress {
	if p == nil {
		return nil
	}
	return &Progress{Done: p.GetDone(), Total: p.GetTotal(), Note: p.GetNote()}
}

// text is the progress in a line; empty if there is none.
func (p *Progress) text() string {
	if p == nil {
		return ""
	}
	text := strconv.FormatUint(p.Done, 10)
	if p.Total > 0 {
		text += " of " + strconv.FormatUint(p.Total, 10)
	}
	return strings.TrimSpace(text + " " + terminal.OneLine(p.Note))
}

// attributesText is the attributes in a line, in their order.
func attributesText(attributes []*crusterv1.Attribute) string {
	var parts []string
	values := attributesOf(attributes)
	for _, a := range attributes {
		value := values[a.GetName()]
		if at, is := value.(*time.Time); is {
			value = at.Format(time.RFC3339)
		}
		parts = append(parts, terminal.OneLine(fmt.Sprintf("%s=%v", a.GetName(), value)))
	}
	return strings.Join(parts, " ")
}

// publishedLines are the attributes and the progress of an execution.
func publishedLines(attributes []*crusterv1.Attribute, progress *crusterv1.Progress) []terminal.Line {
	return []terminal.Line{
		{Name: "attributes", Value: attributesText(attributes)},
		{Name: "progress", Value: progressOf(progress).text()},
	}
}

// WritePublished writes an execution's published values.
func WritePublished(w io.Writer, p *crusterv1.GetExecutionStateResponse) error {
	lines := append(publishedLines(p.GetAttributes(), p.GetProgress()), terminal.Line{
		Name: "changed", Value: timeText(p.GetUpdateTime()),
	})
	if err := terminal.Lines(w, lines...); err != nil {
		return err
	}
	return writeState(w, p.GetState())
}

func writeState(w io.Writer, state []*crusterv1.PublishedState) error {
	if len(state) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nstate")
	var rows [][]string
	for _, s := range state {
		rows = append(rows, []string{
			terminal.Clip(s.GetName(), 40), terminal.Clip(string(payloadJSON(s.GetValue())), 100),
		})
	}
	return terminal.Table(w, []string{"NAME", "VALUE"}, rows)
}

func writeUnanswered(w io.Writer, unanswered []*crusterv1.UnansweredUpdates) error {
	if len(unanswered) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nunanswered updates")
	var rows [][]string
	for _, u := range unanswered {
		rows = append(rows, []string{terminal.Clip(u.GetName(), 60), count(u.GetCount())})
	}
	return terminal.Table(w, []string{"UPDATE", "UNANSWERED"}, rows)
}
