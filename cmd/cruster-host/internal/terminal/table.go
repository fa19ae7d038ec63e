package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes rows below a heading, in aligned columns. A cell stays on its line.
func Table(w io.Writer, heading []string, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, strings.Join(heading, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i] = OneLine(row[i])
		}
		fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	return columns.Flush()
}

// A Line is a name with its value.
type Line struct{ Name, Value string }

// Lines writes aligned "name: value" lines, without lines that have no value. The further lines of
// a value stand below its first.
func Lines(w io.Writer, all ...Line) error {
	width := 0
	for _, l := range all {
		if l.Value != "" {
			width = max(width, len(l.Name)+len(":  "))
		}
	}
	margin := "\n" + strings.Repeat(" ", width)
	for _, l := range all {
		if l.Value == "" {
			continue
		}
		if _, err := fmt.Fprintf(
			w, "%-*s%s\n", width, l.Name+":", strings.ReplaceAll(l.Value, "\n", margin),
		); err != nil {
			return err
		}
	}
	return nil
}
