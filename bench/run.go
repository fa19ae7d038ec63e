package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A plan lists the measurements of one call of the command.
type plan struct {
	adapters  string // folder
	binary    string // of the host
	cache     string // folder of compiled modules; a new one for each host if it is empty
	dir       string // where stores are made
	guests    string // folder
	languages []string
	out       string // file
	peers     []string
	postgres  string // a server to use; one is started if it is empty
	progress  io.Writer
	repeat    int
	sizes     sizes
	stores    []string
	table     io.Writer
	workloads []workload

	bed        *bed
	failures   []error
	figures    []figure
	filesystem string
	fsync      float64
	lines      io.Writer
	machine    machine
}

// run measures everything, and prints a table. The order turns from repetition to repetition, so that no system is
// always the first.
func (p *plan) run(ctx context.Context) (err error) {
	setups, err := p.setups()
	if err != nil {
		return err
	}
	closeOut, err := p.openOut()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	needsPostgres := false
	for _, s := range setups {
		needsPostgres = needsPostgres || s.Store == postgres
	}
	if p.bed, err = newBed(p.dir, needsPostgres, p.postgres); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.bed.close()) }()
	if p.fsync, err = fsyncLatency(p.bed.dir); err != nil {
		return err
	}
	p.machine, p.filesystem = thisMachine(), filesystemOf(p.bed.dir)
	for rep := range p.repeat {
		for i := range setups {
			s := setups[(i+rep)%len(setups)]
			p.measureSetup(ctx, s, rep+1)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	p.say("%s\n", "done")
	return errors.Join(append(p.failures, writeTable(p.table, p.figures))...)
}

func (p *plan) openOut() (func() error, error) {
	p.lines = io.Discard
	if p.out == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(filepath.Dir(p.out), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(p.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p.lines = file
	return file.Close, nil
}

// measureSetup runs the workloads that can share a system on one, and each of the others on one of its own. A failure
// is written down, and the rest goes on: one bad figure must not cost an hour of figures.
func (p *plan) measureSetup(ctx context.Context, s setup, rep int) {
	var shared []workload
	groups := [][]workload{}
	for _, w := range p.workloads {
		switch {
		case s.System != crusters && !slices.Contains(w.peers, s.System):
		case w.fresh:
			groups = append(groups, []workload{w})
		default:
			shared = append(shared, w)
		}
	}
	if len(shared) > 0 {
		groups = append([][]workload{shared}, groups...)
	}
	for _, group := range groups {
		if err := p.measureGroup(ctx, s, rep, group); err != nil && ctx.Err() == nil {
			p.fail(figure{setup: s, Repetition: rep, Workload: group[0].name}, err)
		}
	}
}

// fail writes down why there is no figure.
func (p *plan) fail(f figure, err error) {
	p.failures = append(p.failures, fmt.Errorf("%s: %s: %w", f.setup, f.Workload, err))
	f.Failure = err.Error()
	p.say("%s %s failed: %v\n", f.setup, f.Workload, err)
	if err := p.write(f); err != nil {
		p.failures = append(p.failures, err)
	}
}

func (p *plan) measureGroup(ctx context.Context, s setup, rep int, group []workload) (err error) {
	t, err := p.open(ctx, s, group[0].settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for _, w := range group {
		p.say("%s %d/%d: %s, %s …", time.Now().Format(time.TimeOnly), rep, p.repeat, s, w.name)
		m := &meter{plan: p, setup: s, target: t, workload: w, rep: rep, load: loadAverage()}
		if err := m.run(ctx); err != nil && ctx.Err() == nil {
			p.fail(figure{setup: s, Repetition: rep, Workload: w.name}, err)
		}
	}
	return nil
}

// say writes the progress line over the last one.
func (p *plan) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.progress, "\r\x1b[K"+format, args...)
}

// record keeps a figure, and shows it on a line of its own.
func (p *plan) record(f figure) error {
	p.figures = append(p.figures, f)
	p.say("%-24s %s %-28s %12s %s\n", f.setup, f.Workload, f.Metric, number(f.Value), f.Unit)
	return p.write(f)
}

func (p *plan) write(f figure) error {
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.lines, "%s\n", line)
	return err
}

// versionOf is the version that a system reports.
func (p *plan) versionOf(t target) string {
	if v, ok := t.(interface{ version() string }); ok {
		return v.version()
	}
	return ""
}
