package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
)

// A row is a metric of a workload, over all setups.
type row struct {
	Workload, Metric, Unit string
	HigherIsBetter         bool
	values                 map[setup][]float64 // of all repetitions
	last                   map[setup]figure
}

// rowsOf gathers figures by metric, in the order of workloads and of their metrics, and lists the setups, Cruster
// first.
func rowsOf(figures []figure) ([]*row, []setup) {
	var rows []*row
	var setups []setup
	for _, f := range figures {
		i := slices.IndexFunc(rows, func(r *row) bool { return r.Workload == f.Workload && r.Metric == f.Metric })
		if i < 0 {
			i = len(rows)
			rows = append(rows, &row{
				Workload: f.Workload, Metric: f.Metric, Unit: f.Unit, HigherIsBetter: f.HigherIsBetter,
				values: map[setup][]float64{}, last: map[setup]figure{},
			})
		}
		rows[i].values[f.setup] = append(rows[i].values[f.setup], f.Value)
		rows[i].last[f.setup] = f
		if !slices.Contains(setups, f.setup) {
			setups = append(setups, f.setup)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(a.Workload, b.Workload) })
	slices.SortStableFunc(setups, func(a, b setup) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)), cmp.Compare(a.System, b.System), cmp.Compare(a.Store, b.Store),
			cmp.Compare(a.Language, b.Language),
		)
	})
	return rows, setups
}

func rank(s setup) int {
	if s.System == crusters {
		return 0
	}
	return 1
}

// value is the median of the repetitions.
func (r *row) value(s setup) (float64, bool) {
	values := slices.Sorted(slices.Values(r.values[s]))
	n := len(values)
	if n == 0 {
		return 0, false
	}
	return (values[(n-1)/2] + values[n/2]) / 2, true
}

func (r *row) text(s setup) string {
	v, ok := r.value(s)
	if !ok {
		return ""
	}
	return number(v)
}

// number has three digits that count, and no more than it needs.
func number(v float64) string {
	abs := math.Abs(v)
	switch {
	case abs >= 1000:
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	case abs >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// writeTable shows figures to a person.
func writeTable(w io.Writer, figures []figure) error {
	rows, setups := rowsOf(figures)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(tab, "workload\tmetric\tunit\t")
	for _, s := range setups {
		_, _ = fmt.Fprintf(tab, "%s\t", s)
	}
	_, _ = fmt.Fprintln(tab)
	for _, r := range rows {
		_, _ = fmt.Fprintf(tab, "%s\t%s\t%s\t", r.Workload, r.Metric, r.Unit)
		for _, s := range setups {
			_, _ = fmt.Fprintf(tab, "%s\t", r.text(s))
		}
		_, _ = fmt.Fprintln(tab)
	}
	for _, r := range ratiosOf(rows, setups) {
		_, _ = fmt.Fprintf(tab, "%s\t%s\t%s\t", r.workload, r.metric, "against the best peer")
		for _, s := range setups {
			_, _ = fmt.Fprintf(tab, "%s\t", r.text(s))
		}
		_, _ = fmt.Fprintln(tab)
	}
	return tab.Flush()
}
