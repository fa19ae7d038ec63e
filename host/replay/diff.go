package replay

import (
	"cmp"
	"fmt"
	"strings"
)

// Diff shows what a journal holds beside what the code did with it, step by step.
type Diff struct {
	Rows []DiffRow
	// Before and After count the rows that were left out.
	Before, After int
}

// DiffRow is one step. A side that does not have it is empty.
type DiffRow struct {
	Journal string
	Code    string
	// Note says what is wrong; empty if nothing is. NotCompared is no difference.
	Note string
}

// NotCompared is the note of a step in the journal that the code may come to behind a
// step that differs.
const NotCompared = "not compared"

// differs tells whether something is wrong with the step.
func (r DiffRow) differs() bool { return r.Note != "" && r.Note != NotCompared }

// String renders the two sides in columns.
func (d *Diff) String() string {
	width := len("journal")
	for _, r := range d.Rows {
		width = max(width, len(r.Journal))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "    %-*s   %s\n", width, "journal", "code")
	if d.Before > 0 {
		fmt.Fprintf(&out, "    … %d alike before\n", d.Before)
	}
	for _, r := range d.Rows {
		mark := " "
		if r.differs() {
			mark = "≠"
		}
		line := fmt.Sprintf("  %s %-*s   %s", mark, width, cmp.Or(r.Journal, "-"), cmp.Or(r.Code, "-"))
		if r.Note != "" {
			line += "  (" + r.Note + ")"
		}
		fmt.Fprintln(&out, strings.TrimRight(line, " "))
	}
	if d.After > 0 {
		fmt.Fprintf(&out, "    … %d more\n", d.After)
	}
	return strings.TrimRight(out.String(), "\n")
}
