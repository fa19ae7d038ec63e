package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// plotted are the metrics that have a plot.
var plotted = []string{
	"W1 throughput", "W2 one step p50", "W3 lateness p99", "W3 memory a sleeper", "W4 parallel steps p50",
	"W8 transfers", "W9 guest against native",
}

// writeReport makes the page of results of lines of JSON. Figures of Cruster that were taken beside peers are shown
// with them, all others by themselves: a figure is never compared with one of another sitting.
func writeReport(page string, paths []string) error {
	var out strings.Builder
	out.WriteString(reportHead)
	folder := filepath.Join(filepath.Dir(page), "benchmarks")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, path := range paths {
		figures, err := figuresOf([]string{path})
		if err != nil {
			return err
		}
		if measured, _ := succeeded(figures); len(measured) == 0 {
			return fmt.Errorf("%s has no figures", path)
		}
		if err := writeSitting(&out, folder, strings.TrimSuffix(filepath.Base(path), ".jsonl"), figures); err != nil {
			return err
		}
	}
	notes, err := os.ReadFile(filepath.Join(filepath.Dir(paths[0]), notesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(notes) > 0 {
		out.WriteString("\n" + string(notes))
	}
	return os.WriteFile(page, []byte(out.String()), 0o644)
}

// notesFile is written by hand, beside the figures that it explains, and becomes the end of the
// page: which goals are missed, why, and the remedy.
const notesFile = "notes.md"

const reportHead = `# Benchmarks

` + "`make bench-report`" + ` measures all of this and writes this page; do not edit it.
The lines of JSON that it is made of are in [bench/results](../bench/results), and so are the notes at its end, which are written by hand.
[bench/README.md](../bench/README.md) defines the workloads, [bench/peers/README.md](../bench/peers/README.md) says how each peer is set up and how fair the comparison is, and [tuning.md](tuning.md) lists the costs of each setting of a host.

Figures are medians of the repetitions.
Compare only figures of one sitting: machines differ, and the same machine differs from hour to hour.
`

// writeSitting writes the figures of one call of the command.
func writeSitting(out *strings.Builder, folder, name string, figures []figure) error {
	figures, failed := succeeded(figures)
	rows, setups := rowsOf(figures)
	withPeers := slices.ContainsFunc(setups, func(s setup) bool { return s.System != crusters })
	if withPeers {
		out.WriteString("\n## Beside peers\n")
	} else {
		out.WriteString("\n## Cruster by itself\n")
	}
	out.WriteString(circumstances(figures))
	for _, f := range failed {
		fmt.Fprintf(
			out, "\n**Failed**: %s %s, repetition %d: %s\n", f.setup, f.Workload, f.Repetition,
			strings.ReplaceAll(f.Failure, "\n", " "),
		)
	}
	writeMarkdown(out, rows, setups)
	if withPeers {
		writeRatios(out, rows, setups)
	}
	writeCosts(out, rows, setups)
	for _, r := range rows {
		if !slices.Contains(plotted, r.Workload+" "+r.Metric) {
			continue
		}
		plot := plotOf(r, setups)
		if plot == "" {
			continue
		}
		file := fmt.Sprintf("%s-%s-%s.svg", name, strings.ToLower(r.Workload), strings.ReplaceAll(r.Metric, " ", "-"))
		if err := os.WriteFile(filepath.Join(folder, file), []byte(plot), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(out, "\n![%s %s](benchmarks/%s)\n", r.Workload, r.Metric, file)
	}
	return nil
}

// succeeded parts figures from failures.
func succeeded(all []figure) (figures, failed []figure) {
	for _, f := range all {
		if f.Failure == "" {
			figures = append(figures, f)
		} else {
			failed = append(failed, f)
		}
	}
	return figures, failed
}

// circumstances are the machine, the disk and what else the machine had to do.
func circumstances(figures []figure) string {
	first, last := figures[0], figures[len(figures)-1]
	low, high, reps := first.LoadAtStart, first.LoadAtStart, 0
	versions := map[string]bool{}
	var stolen []float64
	for _, f := range figures {
		stolen = append(stolen, f.stolenShare())
		low, high, reps = min(low, f.LoadAtStart), max(high, f.LoadAtStart), max(reps, f.Repetition)
		if f.Version != "" {
			versions[f.System+" "+f.Version] = true
		}
	}
	text := fmt.Sprintf(
		"\n%s to %s UTC, on %s, %d cores, %g GiB, Linux %s, %s on %s: a write of 4 KiB with its flush takes %s "+
			"µs.\n%d repetitions.\n",
		shortTime(first.Time), shortTime(last.Time), first.Machine.Processor, first.Machine.Cores,
		first.Machine.MemoryGiB, first.Machine.Kernel,
		first.Machine.Go, first.Filesystem, number(first.FsyncMicros), reps,
	)
	text += fmt.Sprintf("The load average of the machine was %s to %s when workloads began", number(low), number(high))
	if high > 3*float64(first.Machine.Cores) {
		text += ": **it was busy with other work, and the figures are provisional**"
	}
	if worst := percentile(stolen, 100); worst >= 0.5 {
		text += fmt.Sprintf(
			".\nOther machines on the same hardware had %s %% of its processors' time in the median measurement, and "+
				"up to %s %%",
			number(percentile(stolen, 50)), number(worst),
		)
	}
	return text + ".\nMeasured: " + strings.Join(slices.Sorted(maps.Keys(versions)), "; ") + ".\n"
}

func shortTime(t string) string { return strings.TrimSuffix(strings.Replace(t, "T", " ", 1), "Z") }

func heading(out *strings.Builder, first string, setups []setup) {
	out.WriteString("\n| " + first + " |")
	for _, s := range setups {
		fmt.Fprintf(out, " %s |", s)
	}
	out.WriteString("\n|" + strings.Repeat(" --- |", len(setups)+1) + "\n")
}

func writeMarkdown(out *strings.Builder, rows []*row, setups []setup) {
	last := ""
	for _, r := range rows {
		if r.Workload != last {
			last = r.Workload
			w, _ := workloadOf(r.Workload)
			fmt.Fprintf(out, "\n**%s**: %s\n", r.Workload, w.title)
			heading(out, "", setups)
		}
		fmt.Fprintf(out, "| %s, %s |", r.Metric, r.Unit)
		for _, s := range setups {
			fmt.Fprintf(out, " %s |", r.text(s))
		}
		out.WriteString("\n")
	}
}

// writeRatios says how many times better Cruster is than the best peer.
func writeRatios(out *strings.Builder, rows []*row, setups []setup) {
	ours := slices.DeleteFunc(slices.Clone(setups), func(s setup) bool { return s.System != crusters })
	out.WriteString(
		"\n### Against the best peer\n\nAbove 1 Cruster is better, below 1 the peer is.\nThe best peer is " +
			"another one from row to row.\n",
	)
	heading(out, "metric, best peer", ours)
	for _, r := range ratiosOf(rows, setups) {
		fmt.Fprintf(out, "| %s %s, %s |", r.workload, r.metric, r.best.System)
		for _, s := range ours {
			fmt.Fprintf(out, " %s |", r.text(s))
		}
		out.WriteString("\n")
	}
}

const costHead = `
### Costs of a workflow

Of the last repetition, in microseconds of processor time a workflow: the system (for peers with their client, which is in the same process), the client of Cruster, or the harness beside a peer, and Postgres.
Commits are counted by the host's metrics, flushes of its log by Postgres.
`

// writeCosts shows the costs beside the figures of W1, W2, W4 and W8 for each workflow.
func writeCosts(out *strings.Builder, rows []*row, setups []setup) {
	out.WriteString(costHead)
	out.WriteString("\n| workload | setup | system µs | client µs | Postgres µs | commits | flushes |\n| --- | --- " +
		"| --- | --- | --- | --- | --- |\n")
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.Workload] || !slices.Contains([]string{"W1", "W2", "W4", "W8"}, r.Workload) {
			continue
		}
		seen[r.Workload] = true
		for _, s := range setups {
			f, ok := r.last[s]
			if !ok || f.Operations == 0 {
				continue
			}
			n := float64(f.Operations)
			fmt.Fprintf(
				out, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Workload, s, number(f.CPU/n*1e6),
				number(f.ClientCPU/n*1e6),
				number(f.StoreCPU/n*1e6), perWorkflow(f.Commits, n), perWorkflow(f.Flushes, n),
			)
		}
	}
}

func perWorkflow(total *float64, n float64) string {
	if total == nil {
		return ""
	}
	return number(*total / n)
}
