package execution

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func isUndecided(err error) bool { return errors.Is(err, journal.ErrUndecided) }

// TestRandomLives has executions live random lives: their code, what becomes of their
// activities, and what happens to them and to their host are drawn from a seed. Time is
// virtual. Whatever happens, in the end
//
//   - each comes to its end once nothing is in its way any more;
//   - the sequence numbers of its journal ascend, and each step is delivered at most
//     once;
//   - a fresh instance that is given the journal does what the execution did, to the
//     same result, and no instance was ever told anything else, but in its last turn,
//     if that was never committed;
//   - what was acknowledged is there: starts, settlements, interrupts, moves, forks;
//   - each signal that was acknowledged is in the inbox or was delivered, none was
//     delivered twice, and those of one name are in the order in which they were sent;
//   - each update that was accepted is delivered once at most; who asks, however often, gets
//     the answer that the execution gave, or hears that it ended without one;
//   - what is published is what the turns of the journal publish;
//   - a run that has the name of an earlier one knows nothing of it.
//
// CRUSTER_LIVES is how many lives there are, CRUSTER_SEED the seed of the first. A life
// that goes wrong is made shorter as long as it still does.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	lives, seed := number(t, "CRUSTER_LIVES", 60), number(t, "CRUSTER_SEED", rand.Uint64())
	var seen tally
	for i := range lives {
		l := drawLife(seed + i)
		faults := l.live(t, &seen)
		if len(faults) == 0 {
			continue
		}
		for shorter := true; shorter; {
			shorter = false
			for n := range l.events {
				less := l
				less.events = slices.Delete(slices.Clone(l.events), n, n+1)
				if again := less.live(t, &seen); len(again) > 0 {
					l, faults, shorter = less, again, true
					break
				}
			}
		}
		require.Fail(t, "a life went wrong", "CRUSTER_SEED=%d CRUSTER_LIVES=1\ncode: %s\nevents:\n  %s\n%s",
			seed+i, l.text(), strings.Join(l.events, "\n  "), strings.Join(faults, "\n"))
	}
	t.Logf("%d instances were made from saved states, %d turns were committed with a transaction, %d updates were answered and %d were not",
		seen.restored, seen.ahead, seen.answered, seen.unanswered)
	if lives >= 60 {
		require.Positive(t, seen.restored)
		require.Positive(t, seen.ahead)
		require.Positive(t, seen.answered)
		require.Positive(t, seen.unanswered)
	}
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// life is a random life: code, and what happens to it.
type life struct {
	seed     uint64
	code     threads
	evicting bool
	events   []string
	// hibernating has states saved whenever an instance is dropped.
	hibernating bool
	// leaving has sleepers leave memory at once, if they sleep for more than a second.
	leaving bool
}

// tally counts what happened in lives.
type tally struct{ restored, ahead, answered, unanswered int }

// live lives the life, and returns what went wrong.
func (l life) live(t *testing.T, seen *tally) (faults []string) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{seed: l.seed, code: l.code, begun: map[journal.Caller]int{}, publishes: true}
		w.f = newFixtureOf(t, w.open, w)
		if l.evicting || l.hibernating || l.leaving {
			w.f.evicting = l.evicting
			if l.leaving {
				w.f.idle = time.Second
			}
			if l.hibernating {
				w.f.hibernation.Entries = 0
			}
			w.f.restart(0)
		}
		lived := &living{world: w, acknowledged: map[journal.RunID]*promised{}, told: map[journal.RunID]string{}}
		lived.start()
		for _, event := range l.events {
			lived.happen(event)
		}
		lived.end()
		faults = w.faults
		seen.restored += w.restored
		seen.ahead += w.ahead
		seen.answered += lived.answered
		seen.unanswered += lived.unanswered
	})
	return faults
}
