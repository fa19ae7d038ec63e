package execution

import (
	"context"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// verifyFinal checks the executions that are over.
func (l *living) verifyFinal() {
	for _, key := range lifeKeys {
		run := l.current(key)
		if run == nil {
			continue
		}
		row, err := l.f.store.Load(context.Background(), run.row.ID)
		require.NoError(l.f.t, err)
		if row.State.Final() {
			l.verify(run, row)
		}
	}
}

// isOverUnasked tells whether a run has ended, and has a request to stop that came while its end was decided and not
// durable.
func (l *living) isOverUnasked(row *journal.Execution) bool {
	inbox, err := l.f.store.Inbox(context.Background(), row.Receiver(), 0)
	require.NoError(l.f.t, err)
	return row.State.Final() && slices.ContainsFunc(inbox, func(e journal.Envelope) bool { return e.Kind.Stops() })
}

func (l *living) verify(run *promised, row *journal.Execution) {
	result := string(row.State) + " " + outcomeText(row.Value, row.Error)
	if before, ok := l.told[row.Chain]; ok && before != result {
		l.wrong("%s was %s, and is %s", row.Name(), before, result)
	}
	l.told[row.Chain] = result
	for name, value := range run.settled {
		if d, err := journal.FindDeferred(context.Background(), l.f.store, row.Settlements(), name); err != nil ||
			outcomeText(d.Value, d.Error) != value {
			l.wrong("%s: %s=%s was acknowledged and is not there", row.Name(), name, value)
		}
	}
	if run.interrupted && row.Interrupt == nil && !l.isOverUnasked(row) {
		l.wrong("%s: an interrupt was acknowledged and is not there", row.Name())
	}
	if run.digest != "" && row.Digest != run.digest {
		l.wrong("%s: a move to %s was acknowledged and it is pinned to %s", row.Name(), run.digest, row.Digest)
	}
	for _, told := range run.answers {
		if row.State == journal.Completed && !strings.HasPrefix(outcomeText(row.Value, nil), told) {
			l.wrong("%s: it said %q, and ended with %q", row.Name(), told, outcomeText(row.Value, nil))
		}
	}
	g := l.verifyJournal(row)
	l.verifySignals(run, row, g)
	l.verifyUpdates(run, row, g)
	if ended(row) {
		l.verifyEnd(run, row)
	} else {
		l.verifyPublished(row, g)
	}
}

// verifyJournal gives the journal to a fresh instance, which it returns, and compares it with the
// execution.
func (l *living) verifyJournal(row *journal.Execution) *threadsGuest {
	g, turn := l.replay(row)
	switch {
	case ended(row): // its journal may be any beginning
	case row.State != journal.Completed || turn.Outcome == nil:
		l.wrong("%s is %s: %s", row.Name(), row.State, l.f.show(row))
	case string(turn.Outcome.Value) != string(row.Value):
		l.wrong(
			"%s: the result is %s, the journal says %s", row.Name(), outcomeText(row.Value, nil),
			outcomeText(turn.Outcome.Value, nil),
		)
	}
	l.mu.Lock()
	instances := slices.Clone(l.instances)
	l.mu.Unlock()
	for _, other := range instances {
		if n := len(other.told) - 1; other.row.Run == row.Run && n > 0 &&
			(n > len(g.told) || !slices.Equal(other.told[:n], g.told[:n])) {
			l.wrong("%s: an instance was told %q, the journal says %q", row.Name(), other.told, g.told)
		}
	}
	return g
}

// replay gives the journal of an execution to a fresh instance, and returns that with its last turn.
func (l *living) replay(row *journal.Execution) (*threadsGuest, guest.Turn) {
	entries := l.journal(row)
	g := l.fresh(row)
	turn, err := g.Start(context.Background())
	require.NoError(l.f.t, err)
	delivered := map[journal.StepID]uint64{}
	var last uint64
	for i, en := range entries {
		if en.Seq <= last {
			l.wrong("%s: entry %d comes after %d", row.Name(), en.Seq, last)
		}
		last = en.Seq
		if en.Kind != journal.Delivery {
			continue
		}
		if before := delivered[en.Op.Step()]; before != 0 {
			l.wrong("%s: entries %d and %d deliver the same step", row.Name(), before, en.Seq)
		}
		delivered[en.Op.Step()] = en.Seq
		if i > 0 && entries[i-1].Kind == journal.Delivery && entries[i-1].Turn == en.Turn {
			continue // it belongs to the turn before
		}
		var deliveries []abi.Delivery
		for _, other := range entries[i:] {
			if other.Kind == journal.Delivery && other.Turn == en.Turn {
				if _, waits := g.owner[other.Op.Number]; waits {
					deliveries = append(deliveries, abi.Delivery{
						Op: other.Op.Number, Value: other.Value, Error: other.Error,
					})
				}
			}
		}
		if len(deliveries) == 0 {
			continue // given up while its transaction was committing
		}
		if turn.Outcome != nil && l.hasty && en.Op.Kind == abi.OpActivity {
			continue // its transaction committed before the turn that was the last
		}
		if turn.Outcome != nil {
			l.wrong("%s: entry %d comes after the end", row.Name(), en.Seq)
			break
		}
		turn, err = g.Resume(context.Background(), abi.Resume{Deliveries: deliveries, Time: en.At})
		if abi.CodeOf(err) == abi.CodeUnreadable && row.State != journal.Completed && row.State != journal.Running {
			break // it was paused with an unreadable delivery
		}
		require.NoError(l.f.t, err)
	}
	return g, turn
}
