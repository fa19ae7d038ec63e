package crustertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Place is a place in a workflow: see [Reached].
type Place struct {
	step  string
	times int
}

// Reached is where the workflow asks for a step, as [History.Steps] names it: "activity charge", "receive paid",
// "deferred approved", "sleep 1h0m0s". A kind alone, such as "sleep", is every step of that kind.
func Reached(step string) Place { return Place{step: step, times: 1} }

// Times is where the workflow does so for the n-th time.
func (p Place) Times(n int) Place {
	p.times = n
	return p
}

func (p Place) String() string {
	if p.times == 1 {
		return fmt.Sprintf("%q", p.step)
	}
	return fmt.Sprintf("%q %d times", p.step, p.times)
}

// When lets events happen when the workflow reaches a place, and not at a time. The times of the events count from
// there:
//
//	crustertest.When(crustertest.Reached("receive paid"),
//		crustertest.Signal(Paid, Payment{Cents: 300}),
//		crustertest.InterruptAfter(time.Minute, "too late"))
//
// The step has begun by then, and has no result yet. A workflow that never comes to the place is a
// mistake in the test: the execution ends with an error that lists the places it reached, and [Run]
// fails the test.
func When(at Place, events ...Option) Option {
	seen := newEvents()
	for _, e := range events {
		before := len(seen.outside) + len(seen.early)
		if e(seen); len(seen.outside)+len(seen.early) == before {
			panic("crustertest: When takes what happens to an execution: SignalAfter, ResolveAfter, InterruptAfter " +
				"and the like")
		}
	}
	return func(c *config) {
		c.places = append(c.places, &awaitedPlace{Place: at, early: seen.early, outside: seen.outside})
	}
}

// awaitedPlace is a place that events wait for.
type awaitedPlace struct {
	Place
	early   []func(*run)
	outside []outsideEvent
}

// reach notes that an execution asks for a step.
func (w *world) reach(r *run, kind, name string) {
	if r.id != w.tested || kind == abi.OpInterrupted || kind == abi.OpUpdate {
		return
	}
	step := strings.TrimSpace(kind + " " + name)
	w.reached = append(w.reached, step)
	for _, p := range w.cfg.places {
		if (p.step == step || p.step == kind) && w.count(p.step) == p.times {
			w.soon(func() { w.happen(p.early, p.outside) })
		}
	}
}

// count counts the steps that were reached, by their name in a place.
func (w *world) count(step string) int {
	n := 0
	for _, reached := range w.reached {
		if reached == step || strings.HasPrefix(reached, step+" ") {
			n++
		}
	}
	return n
}

// happen lets events happen to the execution under test, from now on.
func (w *world) happen(early []func(*run), later []outsideEvent) {
	for _, apply := range early {
		w.after(0, func() { apply(w.runs[w.tested]) })
	}
	for _, o := range later {
		w.after(w.up(w.now.Add(o.after)).Sub(w.now), func() { o.apply(w.runs[w.tested]) })
	}
}

// unreached is the error of a test whose workflow did not come to a place; nil if it came to all.
func (w *world) unreached(end *abi.Outcome) *abi.Error {
	for _, p := range w.cfg.places {
		if w.count(p.step) >= p.times {
			continue
		}
		steps := "nothing"
		if len(w.reached) > 0 {
			steps = strings.Join(slices.Compact(slices.Clone(w.reached)), ", ")
		}
		return abi.Errorf(
			abi.CodeWrongContext, "crustertest.When: %s has not reached %s; it has reached %s, and %s", w.tested,
			p.Place, steps, renderEnd(*end),
		)
	}
	return nil
}
