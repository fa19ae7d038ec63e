package view

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Diff is the JSON of the differences between a journal and the code.
type Diff struct {
	Rows   []DiffRow `json:"rows"`
	Before uint32    `json:"left_out_before,omitempty"`
	After  uint32    `json:"left_out_after,omitempty"`
}

// DiffRow is the JSON of one step.
type DiffRow struct {
	Journal string `json:"journal"`
	Code    string `json:"code"`
	Note    string `json:"note,omitempty"`
}

// DiffOf is the shape of a diff; nil stays nil.
func DiffOf(d *crusterv1.Diff) *Diff {
	if d == nil {
		return nil
	}
	v := &Diff{Rows: []DiffRow{}, Before: d.GetBefore(), After: d.GetAfter()}
	for _, r := range d.GetRows() {
		v.Rows = append(v.Rows, DiffRow{Journal: r.GetJournal(), Code: r.GetCode(), Note: r.GetNote()})
	}
	return v
}

// diffText is how wide the side of the journal may be.
const diffText = 60

// WriteDiff writes the two sides of a diff in columns. A step that differs is marked, and describes
// the mistake.
func WriteDiff(w io.Writer, d *crusterv1.Diff) error {
	const heading = "journal"
	width := len(heading)
	for _, r := range d.GetRows() {
		width = max(width, utf8.RuneCountInString(side(r.GetJournal())))
	}
	var out strings.Builder
	line := func(mark, journal, code string) {
		text := fmt.Sprintf(
			"  %s %s%s   %s", mark, journal, strings.Repeat(" ", width-utf8.RuneCountInString(journal)), code,
		)
		fmt.Fprintln(&out, strings.TrimRight(text, " "))
	}
	line(" ", heading, "code")
	if d.GetBefore() > 0 {
		fmt.Fprintf(&out, "    … %d alike before\n", d.GetBefore())
	}
	for _, r := range d.GetRows() {
		code := side(r.GetCode())
		if r.GetNote() != "" {
			code = strings.TrimSpace(code + "  (" + terminal.OneLine(r.GetNote()) + ")")
		}
		mark := " "
		if rpcerror.Differs(r) {
			mark = "≠"
		}
		line(mark, side(r.GetJournal()), code)
	}
	if d.GetAfter() > 0 {
		fmt.Fprintf(&out, "    … %d more\n", d.GetAfter())
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// side is one side of a row. Names in it come from a module.
func side(s string) string {
	if s == "" {
		return ""
	}
	return terminal.Clip(terminal.OneLine(s), diffText)
}
