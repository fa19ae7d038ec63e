package execution

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/journal"
)

// TestSavedStates has an execution take steps, leave memory, and go on after a crash of its host: from its saved state,
// or from its journal if something is wrong with that.
func TestSavedStates(t *testing.T) {
	t.Parallel()
	changed := func(change func(s *hibernation.State)) func(h *journal.Hibernated) {
		return func(h *journal.Hibernated) {
			var codec hibernation.Codec
			s, err := codec.Decode(h.Body)
			if err != nil {
				panic(err)
			}
			change(s)
			if h.Body, err = codec.Encode(s); err != nil {
				panic(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil    func(h *journal.Hibernated)
		restored int
	}{
		"Good":              {nil, 1},
		"None":              {func(h *journal.Hibernated) { h.Body = nil }, 0},
		"Damaged":           {func(h *journal.Hibernated) { h.Body[len(h.Body)/2] ^= 1 }, 0},
		"OfAnotherRun":      {changed(func(s *hibernation.State) { s.Run[0] ^= 1 }), 0},
		"OfAnotherModule":   {changed(func(s *hibernation.State) { s.Digest = "other" }), 0},
		"AtAnotherEntry":    {changed(func(s *hibernation.State) { s.Seq-- }), 0},
		"WaitsForNothing":   {changed(func(s *hibernation.State) { s.Pending = nil }), 1}, // it is tried
		"WithAnUnknownKind": {changed(func(s *hibernation.State) { s.Pending[0].Op.Kind = "?" }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newSleeper(t, 10)
				x, ref, row := w.f.x, request.RefTo(w.row), w.row
				require.True(t, x.evictor.evict(row.ID))
				synctest.Wait()
				saved, err := w.f.store.Hibernated(t.Context(), row.RunKey())
				require.NoError(t, err)
				require.EqualValues(t, 10, saved.Seq)
				if c.spoil != nil {
					c.spoil(saved)
					_, err := w.f.commits.Commit(journal.Write{
						ID: row.ID, Run: row.Run, Chain: row.Chain, Hibernate: saved,
					})
					require.NoError(t, err)
				}
				w.f.restart(0)
				require.NoError(
					t,
					w.f.x.Messages.Settle(t.Context(), ref, journal.Deferred{
						Name: "d0", Value: abi.MustMarshal("go on"),
					}),
				)
				time.Sleep(time.Minute)
				done, err := w.f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				require.Equal(t, journal.Completed, done.State, "%v", done.Error)
				require.Equal(t, c.restored, w.restored)
				again, err := playAgain(t, w, done)
				require.NoError(t, err)
				require.Equal(t, again, done.Value)
				require.Empty(t, w.faults)
				_, err = w.f.store.Hibernated(t.Context(), row.RunKey())
				if c.restored > 0 {
					require.ErrorIs(t, err, journal.ErrNotFound, "it is of no more use")
				}
			})
		})
	}
}

// newSleeper is an execution that has taken steps and waits for a deferred.
type sleeper struct {
	*world
	row *journal.Execution
}

func newSleeper(t *testing.T, steps int) *sleeper {
	var thread []step
	for n := range steps {
		b := &abi.Activity{
			Name: fmt.Sprint("a", n), Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second), Retries: 1000},
		}
		thread = append(thread, step{{abi.OpActivity, abi.MustMarshal(b)}})
	}
	thread = append(
		thread, step{{abi.OpDeferred, abi.MustMarshal(&abi.Deferred{Name: "d0"})}},
		step{{abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: 1})}},
	)
	w := &world{code: threads{thread}, begun: map[journal.Caller]int{}, reliable: true}
	w.f = newFixtureOf(t, w.open, w)
	w.f.hibernation.Entries = 4
	w.f.restart(0)
	row := rowOf("w", "k")
	_, err := w.f.x.Starter.Start(t.Context(), row, nil)
	require.NoError(t, err)
	time.Sleep(time.Hour)
	return &sleeper{w, row}
}

// playAgain gives the journal to a fresh instance, and returns its result.
func playAgain(t *testing.T, w *sleeper, row *journal.Execution) ([]byte, error) {
	g := w.fresh(row)
	turn, err := g.Start(t.Context())
	entries, _, lerr := w.f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{})
	require.NoError(t, lerr)
	for _, en := range entries {
		require.NoError(t, err)
		if en.Kind == journal.Delivery {
			turn, err = g.Resume(context.Background(), instance.ResumeOf([]journal.Entry{en}))
		}
	}
	require.NotNil(t, turn.Outcome)
	return turn.Outcome.Value, err
}

// TestShortJournalsAreNotSaved: a replay is as fast.
func TestShortJournalsAreNotSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newSleeper(t, 3)
		require.True(t, w.f.x.evictor.evict(w.row.ID))
		synctest.Wait()
		_, err := w.f.store.Hibernated(t.Context(), w.row.RunKey())
		require.ErrorIs(t, err, journal.ErrNotFound)
	})
}

// TestStatesAreSavedAtWork: a run that never leaves memory has a state all the same, for the case that its host
// crashes.
func TestStatesAreSavedAtWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newSleeper(t, 2500)
		synctest.Wait()
		saved, err := w.f.store.Hibernated(t.Context(), w.row.RunKey())
		require.NoError(t, err)
		require.EqualValues(t, 2000, saved.Seq)
		w.f.restart(0)
		require.NoError(
			t, w.f.x.Messages.Settle(t.Context(), request.RefTo(w.row), journal.Deferred{Name: "d0", Value: abi.Nil}),
		)
		time.Sleep(time.Minute)
		synctest.Wait() // the settlement is acknowledged before the run is there
		require.Equal(t, 1, w.restored)
		require.Empty(t, w.faults)
	})
}

// TestStateOfARunThatIsFailed is of no more use, and goes with its run.
func TestStateOfARunThatIsFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newSleeper(t, 10)
		require.True(t, w.f.x.evictor.evict(w.row.ID))
		w.f.restart(0)
		w.f.mu.Lock()
		w.f.panicAt = faultpoint.Replay
		w.f.mu.Unlock()
		require.NoError(
			t, w.f.x.Messages.Settle(t.Context(), request.RefTo(w.row), journal.Deferred{Name: "d0", Value: abi.Nil}),
		)
		synctest.Wait()
		_, err := w.f.store.Hibernated(t.Context(), w.row.RunKey())
		require.NoError(t, err, "it is paused")
		require.NoError(t, w.f.x.Operator.Fail(t.Context(), request.RefTo(w.row), "enough"))
		_, err = w.f.store.Hibernated(t.Context(), w.row.RunKey())
		require.ErrorIs(t, err, journal.ErrNotFound)
	})
}

// slowAttempts end together, after a minute and a half second: those of x fail.
type slowAttempts struct{}

// Perform implements Activities.
func (slowAttempts) Perform(ctx context.Context, task activity.Task) activity.Report {
	if !task.Begin(ctx) {
		return nil
	}
	time.Sleep(time.Minute + time.Second/2)
	if task.Body.Name == "x" {
		return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: "not now", Retryable: true}}
	}
	return activity.Done{Outcome: abi.Outcome{Value: abi.Nil}, Attempts: 1}
}

// TestStateBeforeAnAttemptOfACancelledOp: an attempt fails in the turn that gives its op up. Its entry lies behind the
// state, which knows nothing of the op, and is passed over.
func TestStateBeforeAnAttemptOfACancelledOp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		retried := func(name string) call {
			return call{
				abi.OpActivity,
				abi.MustMarshal(&abi.Activity{
					Name: name, Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second), Retries: 1000},
				}),
			}
		}
		sleep := call{abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: int64(time.Minute)})}
		wait := call{abi.OpDeferred, abi.MustMarshal(&abi.Deferred{Name: "d0"})}
		w := &world{
			code:  threads{{step{retried("x"), retried("y")}}, {step{sleep}, step{wait}}},
			begun: map[journal.Caller]int{},
		}
		w.f = newFixtureOf(t, w.open, slowAttempts{})
		w.f.hibernation.Entries = 1
		w.f.restart(0)
		w.f.commits.seen = func(wr journal.Write) {
			if len(wr.Entries) > 0 {
				time.Sleep(2 * time.Second) // so that both attempts have ended when the next turn begins
			}
		}
		row := rowOf("w", "k")
		_, err := w.f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		time.Sleep(3 * time.Minute)
		require.True(t, w.f.x.evictor.evict(row.ID))
		synctest.Wait()
		entries, _, err := w.f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{})
		require.NoError(t, err)
		saved, err := w.f.store.Hibernated(t.Context(), row.RunKey())
		require.NoError(t, err)
		last := entries[len(entries)-1]
		require.Equal(t, journal.Attempt, last.Kind)
		require.Greater(t, last.Seq, saved.Seq)
		made := len(w.instances)
		w.f.restart(time.Second)
		w.f.x.Wake(row.ID)
		synctest.Wait()
		require.Equal(t, 1, w.restored)
		require.Len(t, w.instances, made+1, "and it was not replayed")
	})
}
