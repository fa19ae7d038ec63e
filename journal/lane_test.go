package journal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// heldStore holds every transaction back until the test has decided about it.
type heldStore struct {
	atOnce int

	mu      sync.Mutex
	calls   []*heldCall         // under way; guarded by mu, like all below
	applied map[string][]uint64 // numbers of writes, by queueOf
}

type heldCall struct {
	writes  []journal.Write
	outcome chan error // capacity 1
}

func (s *heldStore) CommitsAtOnce() int { return s.atOnce }

func (s *heldStore) Commit(_ context.Context, writes []journal.Write) ([]journal.Result, error) {
	call := &heldCall{writes: writes, outcome: make(chan error, 1)}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	err := <-call.outcome
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.DeleteFunc(s.calls, func(c *heldCall) bool { return c == call })
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		s.applied[queueOf(w)] = append(s.applied[queueOf(w)], numberOf(w))
	}
	return make([]journal.Result, len(writes)), nil
}

// queueOf names an ordered queue: the steps of an execution, or its states.
func queueOf(w journal.Write) string {
	if w.Hibernate != nil {
		return fmt.Sprint("states of ", w.ID)
	}
	return fmt.Sprint("steps of ", w.ID)
}

func numberOf(w journal.Write) uint64 {
	if w.Hibernate != nil {
		return w.Hibernate.Seq
	}
	return w.Entries[0].Seq
}

// heldLife hands over random writes and decides about their transactions in random order.
type heldLife struct {
	store     *heldStore
	committer *journal.Committer
	handed    []journal.Write
	answers   []error           // of handed; errOpen before
	apart     [][]journal.Write // batches that failed: each write is tried alone, in its turn
}

var (
	errOpen = errors.New("not answered")
	errOdd  = errors.New("value too odd")
)

func (l *heldLife) hand(w journal.Write) {
	i := len(l.handed)
	l.handed, l.answers = append(l.handed, w), append(l.answers, errOpen)
	go func() {
		_, err := l.committer.Commit(context.Background(), w)
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		l.answers[i] = err
	}()
	synctest.Wait()
}

func (l *heldLife) decide(call *heldCall, outcome error) {
	if errors.Is(outcome, errOdd) && len(call.writes) > 1 {
		l.apart = append(l.apart, call.writes)
	}
	call.outcome <- outcome
	time.Sleep(time.Second) // virtual; longer than the pause after a conflict
	synctest.Wait()
}

// isOpen tells whether a write was not answered yet.
func (l *heldLife) isOpen(w journal.Write) bool { return errors.Is(l.answers[numberOf(w)-1], errOpen) }

// check holds the writes in flight against the invariants.
func (l *heldLife) check(t require.TestingT) {
	steps, states := map[journal.ID]int{}, map[journal.ID]int{}
	stepCalls, stateCalls, under := 0, 0, 0
	for number, call := range l.store.calls {
		under += len(call.writes)
		kind, calls := steps, &stepCalls
		if call.writes[0].Hibernate != nil {
			kind, calls = states, &stateCalls
		}
		*calls++
		for _, w := range call.writes {
			require.Equal(
				t, call.writes[0].Hibernate != nil, w.Hibernate != nil, "states and steps do not share a transaction",
			)
			other, there := kind[w.ID]
			require.True(t, !there || other == number, "an execution is in two batches at once")
			kind[w.ID] = number
		}
	}
	require.LessOrEqual(t, stepCalls, l.store.atOnce)
	require.LessOrEqual(t, stateCalls, 1)
	for _, batch := range l.apart {
		if batch[0].Hibernate == nil && slices.ContainsFunc(batch, l.isOpen) {
			for _, w := range batch {
				steps[w.ID] = 0 // until the last of the batch is decided
			}
		}
	}
	for i, w := range l.handed {
		if w.Hibernate != nil || !errors.Is(l.answers[i], errOpen) {
			continue
		}
		_, busy := steps[w.ID]
		require.True(t, busy || stepCalls == l.store.atOnce, "what could be taken is taken")
	}
	require.LessOrEqual(t, l.committer.Queued()+under, len(l.handed))
}

// TestBatchesUnderWay has random writes of few executions committed by a store that takes several
// transactions at once and fails some of them: writes of one execution are never in two, take
// effect in order, and each is told its own outcome alone.
func TestBatchesUnderWay(t *testing.T) {
	t.Parallel()
	outcomes := []error{nil, nil, nil, journal.ErrConflict, journal.ErrUnavailable, journal.ErrUndecided, errOdd}
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			store := &heldStore{atOnce: rapid.IntRange(1, 3).Draw(t, "at once"), applied: map[string][]uint64{}}
			l := &heldLife{store: store, committer: journal.NewCommitter(store, journal.CommitterOptions{
				MaxBatch: rapid.IntRange(1, 4).Draw(t, "max batch"), Logger: slog.New(slog.DiscardHandler),
			})}
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				if len(store.calls) > 0 && rapid.Bool().Draw(t, "decide") {
					l.decide(
						rapid.SampledFrom(store.calls).Draw(t, "call"), rapid.SampledFrom(outcomes).Draw(t, "outcome"),
					)
				} else {
					id := journal.IDOf(
						"default", "orders/Process", rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"),
					)
					w, number := journal.Write{ID: id}, uint64(len(l.handed)+1)
					if rapid.IntRange(0, 3).Draw(t, "sort") == 0 {
						w.Hibernate = &journal.Hibernated{Seq: number}
					} else {
						w.Entries = []journal.Entry{{Seq: number}}
					}
					l.hand(w)
				}
				l.check(t)
			}
			go l.committer.Stop()
			synctest.Wait()
			for len(store.calls) > 0 {
				l.decide(store.calls[0], nil)
			}
			l.committer.Stop()
			l.checkEnd(t)
		})
	})
}

func (l *heldLife) checkEnd(t require.TestingT) {
	for queue, numbers := range l.store.applied {
		require.IsIncreasing(t, append([]uint64{0}, numbers...), queue)
	}
	for i, w := range l.handed {
		applied := slices.Contains(l.store.applied[queueOf(w)], numberOf(w))
		require.NotErrorIs(t, l.answers[i], errOpen)
		require.Equal(t, l.answers[i] == nil, applied)
	}
}

// TestOneOfTwoBatchesFails: the other is committed, and the writes behind the failed one wait for
// its end.
func TestOneOfTwoBatchesFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &heldStore{atOnce: 2, applied: map[string][]uint64{}}
		l := &heldLife{store: store, committer: journal.NewCommitter(store, journal.CommitterOptions{})}
		defer l.committer.Stop()
		write := func(key string, seq uint64) journal.Write {
			return journal.Write{
				ID: journal.IDOf("default", "orders/Process", key), Entries: []journal.Entry{{Seq: seq}},
			}
		}
		l.hand(write("a", 1))
		l.hand(write("b", 2))
		l.hand(write("a", 3))
		l.hand(write("c", 4))
		require.Len(t, store.calls, 2)
		require.Equal(t, 2, l.committer.Queued(), "no third batch")

		first, second := store.calls[0], store.calls[1]
		l.decide(second, nil)
		require.Equal(t, []error{errOpen, nil, errOpen, errOpen}, l.answers)
		require.Equal(t, 1, l.committer.Queued(), "the second of a waits for the first")
		l.decide(first, journal.ErrUndecided)
		require.ErrorIs(t, l.answers[0], journal.ErrUndecided)
		for len(store.calls) > 0 {
			l.decide(store.calls[0], nil)
		}
		require.Equal(t, []error{nil, nil, nil}, l.answers[1:])
	})
}

// TestStatesDoNotDelaySteps: while a saved state is written, steps are committed, also of its own execution.
func TestStatesDoNotDelaySteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &heldStore{atOnce: 1, applied: map[string][]uint64{}}
		l := &heldLife{store: store, committer: journal.NewCommitter(store, journal.CommitterOptions{})}
		defer l.committer.Stop()
		id := journal.IDOf("default", "orders/Process", "a")
		l.hand(journal.Write{ID: id, Hibernate: &journal.Hibernated{Seq: 1, Body: make([]byte, 1<<20)}})
		l.hand(journal.Write{ID: id, Entries: []journal.Entry{{Seq: 2}}})
		require.Len(t, store.calls, 2)
		l.decide(store.calls[1], nil)
		require.Equal(t, []error{errOpen, nil}, l.answers)
		// A write that does more than to save a state is a step like others.
		l.hand(journal.Write{
			ID: id, Hibernate: &journal.Hibernated{}, Update: &journal.Update{State: journal.Completed},
		})
		require.Len(t, store.calls, 2)
		l.decide(store.calls[1], nil)
		require.NoError(t, l.answers[2])
		l.decide(store.calls[0], nil)
		require.NoError(t, l.answers[0])
	})
}
