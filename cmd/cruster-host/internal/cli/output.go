package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// emit prints one thing: as JSON, or the way table does.
func (a *app) emit(v any, table func() error) error {
	switch a.output {
	case "json":
		return a.writeJSON(v, "  ")
	case "jsonl":
		return a.writeJSON(v, "")
	default:
		return table()
	}
}

// emitAll prints many things: jsonl has one a line, json has whole, which holds
// them all.
func emitAll[T any](a *app, items []T, whole any, table func() error) error {
	switch a.output {
	case "json":
		return a.writeJSON(whole, "  ")
	case "jsonl":
		for _, item := range items {
			if err := a.writeJSON(item, ""); err != nil {
				return err
			}
		}
		return nil
	default:
		return table()
	}
}

func (a *app) writeJSON(v any, indent string) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// rows prints a table with a heading.
func (a *app) rows(heading []string, rows [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(heading, "\t"))
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// A line is a name with its value.
type line struct{ name, value string }

// lines prints aligned "name: value" lines, without those that have no value.
// The further lines of a value stand below its first.
func (a *app) lines(all ...line) error {
	width := 0
	for _, l := range all {
		if l.value != "" {
			width = max(width, len(l.name)+len(":  "))
		}
	}
	margin := "\n" + strings.Repeat(" ", width)
	for _, l := range all {
		if l.value == "" {
			continue
		}
		if _, err := fmt.Fprintf(a.stdout, "%-*s%s\n", width, l.name+":", strings.ReplaceAll(l.value, "\n", margin)); err != nil {
			return err
		}
	}
	return nil
}

// oneLine keeps what a module or a client wrote from breaking a table or moving
// the cursor of a terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s
}

// short cuts a text for a column.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

func shortDigest(d string) string {
	if len(d) > 12 {
		return d[:12]
	}
	return d
}

// when prints a time for people; empty if there is none.
func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format("2006-01-02 15:04:05.000Z")
}

// timeOf is the form of a time in JSON; nil if there is none.
func timeOf(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	return &at
}

// pretty indents JSON for people.
func pretty(raw json.RawMessage, prefix string) string {
	var buf bytes.Buffer
	if len(raw) == 0 || json.Indent(&buf, raw, prefix, "  ") != nil {
		return string(raw)
	}
	return buf.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
