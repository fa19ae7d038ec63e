package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// signal sends one to a run, and repeats it if nothing tells whether it was received.
func (l *living) signal(run *promised, name string) {
	l.sent = append(l.sent, fmt.Sprint(name, " ", len(l.sent)))
	s := message.Signal{Name: name, Value: abi.MustMarshal(l.sent[len(l.sent)-1])}
	if len(l.sent)%2 == 0 {
		s.Origin = journal.NewOrigin() // it may be repeated
	}
	send := func(ctx context.Context) error { return l.f.x.Messages.Signal(ctx, request.RefTo(run.row), s) }
	if l.ask(send) || s.Origin != (journal.Origin{}) && l.ask(send) {
		run.signals = append(run.signals, l.sent[len(l.sent)-1])
	}
}

// query asks a run for its deliveries: they are a prefix of its deliveries in the end, whatever the
// outcome of its turn in flight.
func (l *living) query(run *promised) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	outcome, err := l.f.x.Queries.Query(ctx, request.RefTo(run.row), abi.Query{Name: "told"})
	if err == nil {
		run.answers = append(run.answers, outcomeText(outcome.Value, outcome.Error))
	}
}

// verifySignals checks the fate of the signals of a run and of the runs before it: an instance that
// was given its journal knows which they received.
func (l *living) verifySignals(run *promised, row *journal.Execution, g *threadsGuest) {
	last := map[string]int{}
	there := map[string]bool{}
	look := func(name, value string) {
		if strings.HasPrefix(value, fromRun) {
			if _, seed, _ := strings.Cut(value, " by "); there[value] && !l.forked[seed] {
				l.wrong("%s: signal %q came twice", row.Name(), value)
			}
			there[value] = true
			l.counts.byRuns++
			return
		}
		place := slices.Index(l.sent, value)
		if place < 0 || there[value] || place < last[name] {
			l.wrong("%s: signal %q was never sent, came twice, or out of order", row.Name(), value)
		}
		there[value], last[name] = true, place
	}
	for name, values := range g.Received {
		for _, value := range values {
			look(name, value)
		}
	}
	unread, _, err := l.f.store.Messages(context.Background(), row.Receiver(), 0, journal.PageLimit{Entries: 10_000})
	unread = slices.DeleteFunc(unread, func(m journal.Message) bool {
		return m.Kind == journal.ResultMessage || m.Kind == journal.AwaitMessage || m.Kind.Stops()
	})
	require.NoError(l.f.t, err)
	for _, m := range unread {
		if m.Kind == journal.UpdateMessage || m.Held || m.Name == floodName {
			continue // the journal has the deliveries
		}
		look(m.Name, outcomeText(m.Value, nil))
	}
	for _, value := range run.signals {
		if !there[value] {
			l.wrong("%s: signal %q was acknowledged and is not there", row.Name(), value)
		}
	}
}
