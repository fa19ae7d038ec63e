package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Diff shows a journal beside the behaviour of the code, step by step.
type Diff struct {
	Rows []DiffRow
	// Before and After count the rows that were left out.
	Before, After int
}

// DiffRow is one step. A side that does not have it is empty.
type DiffRow struct {
	Journal string
	Code    string
	// Note says how they differ; empty if they do not. NotCompared is no difference.
	Note string
}

// NotCompared is the note of a step in the journal that the code may come to behind a step that differs.
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

// diff aligns the two sides: the code's ops in their order, each beside the entry that answers it, and the entries that
// no op has claimed at the place where they stood.
func (r *record) diff(unclaimed []journal.Entry, changed *change) *Diff {
	missing := map[journal.StepID]string{} // the text about each
	for _, en := range unclaimed {
		missing[en.Op.Step()] = "the code does not come to it"
		if changed != nil {
			// The code waits for a changed step: its further steps cannot be seen.
			missing[en.Op.Step()] = NotCompared
		}
	}
	if changed != nil {
		delete(missing, changed.ran) // it has a row of its own
	}
	inJournal := map[journal.StepID]recorded{}
	for _, e := range r.inJournal {
		inJournal[e.op.Step()] = e
	}
	var rows []DiffRow
	next := 0 // of inJournal
	for _, o := range r.inCode {
		step := o.Step()
		row := DiffRow{Code: op.Describe(o)}
		if changed != nil && step == changed.now {
			step, row.Note = changed.ran, "other arguments"
		}
		e, ran := inJournal[step]
		if !ran && o.Kind == abi.OpInterrupted {
			continue // every workflow waits for a request to stop
		}
		if ran {
			rows = append(rows, r.missingUpTo(&next, e.seq, missing)...)
			row.Journal = describeEntry(e)
		}
		rows = append(rows, row)
	}
	rows = append(rows, r.missingUpTo(&next, ^uint64(0), missing)...)
	return clip(rows)
}

// missingUpTo are the entries before seq that no op has claimed.
func (r *record) missingUpTo(next *int, seq uint64, missing map[journal.StepID]string) (rows []DiffRow) {
	for ; *next < len(r.inJournal) && r.inJournal[*next].seq < seq; *next++ {
		if e := r.inJournal[*next]; missing[e.op.Step()] != "" {
			rows = append(rows, DiffRow{Journal: describeEntry(e), Note: missing[e.op.Step()]})
		}
	}
	return rows
}

// clip keeps the rows around the first difference.
func clip(rows []DiffRow) *Diff {
	first := slices.IndexFunc(rows, DiffRow.differs)
	from := max(0, first-around)
	to := min(len(rows), max(first, 0)+2*around)
	return &Diff{Rows: rows[from:to], Before: from, After: len(rows) - to}
}

func describeEntry(e recorded) string { return fmt.Sprintf("entry %d: %s", e.seq, op.Describe(e.op)) }
