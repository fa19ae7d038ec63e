package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// chained is the key of an execution that continues now and then. Its entries and its published
// values say how often it has.
const chained = "chained"

// chainedRun is the run of the execution once it has continued so often.
func chainedRun(continued uint32) journal.RunID {
	run := laneOf(chained).Run
	run[14], run[15] = run[14]^byte(continued>>8), run[15]^byte(continued)
	return run
}

func publishedBy(continued uint32) *journal.Published {
	return &journal.Published{
		Attributes: []journal.NamedAttribute{{
			Name: "run", Attribute: abi.Attribute{Type: abi.AttributeNumber, Number: float64(continued)},
		}},
	}
}

// work adds an entry to the run that there is.
func (l *powerLoad) work() error {
	w := l.write(chained)
	w.Run, w.Chain = chainedRun(l.continued), chainedRun(0)
	w.Entries = []journal.Entry{{
		Seq:      l.worked + 1,
		Kind:     journal.Delivery,
		Attempts: l.continued,
		Value:    make([]byte, l.rng.IntN(1<<l.rng.IntN(15))),
	}}
	if err := l.commit(w); err != nil {
		return err
	}
	l.worked++
	return nil
}

// goOn has another run take its place.
func (l *powerLoad) goOn() error {
	w := l.write(chained)
	w.Run, w.Chain = chainedRun(l.continued), chainedRun(0)
	w.Continue = &journal.Continuation{Run: chainedRun(l.continued + 1), Input: make([]byte, l.rng.IntN(3000))}
	w.Publish = publishedBy(l.continued + 1)
	if err := l.commit(w); err != nil {
		return err
	}
	l.continued, l.worked = l.continued+1, 0
	want := l.continued
	l.acknowledged("continued", func(s *Store) error {
		continued, err := runsOf(s)
		if err == nil && continued < want {
			err = fmt.Errorf("it had continued %d times, and has %d", want, continued)
		}
		return err
	})
	return nil
}

// runsOf returns how often the execution has continued, and checks it: all its rows are of one run.
func runsOf(s *Store) (uint32, error) {
	ctx := context.Background()
	e, err := s.Load(ctx, laneOf(chained).ID)
	if errors.Is(err, journal.ErrNotFound) {
		return 0, nil // the power was cut before
	}
	if err != nil {
		return 0, err
	}
	if e.Run != chainedRun(e.Continued) || e.Chain != chainedRun(0) {
		return 0, fmt.Errorf("run %s of %s is there, after %d", e.Run, e.Chain, e.Continued)
	}
	for en, err := range journal.Scan(ctx, s, e.RunKey()) {
		if err != nil || en.Attempts != e.Continued {
			return 0, fmt.Errorf("an entry of run %d is there, of %d: %w", en.Attempts, e.Continued, err)
		}
	}
	page, err := s.List(ctx, journal.Filter{
		Where: []journal.Condition{{
			Name: "run", Operator: "=", Value: publishedBy(e.Continued).Attributes[0].Attribute,
		}},
	})
	if err != nil || len(page.Executions) != 1 {
		return 0, fmt.Errorf("%d are found by what run %d has published: %w", len(page.Executions), e.Continued, err)
	}
	return e.Continued, nil
}
