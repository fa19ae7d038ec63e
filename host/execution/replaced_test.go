package execution

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// whenEnded has something happen once a run has ended, before anyone is told of that.
func (f *fixture) whenEnded(do func()) {
	once := sync.OnceFunc(do)
	f.x.Fault = func(point string) {
		if point == faultpoint.FinalAfterCommit {
			once()
		}
		f.pass(point)
	}
}

// TestUpdateOfTheNextRun repeats an update behind the end of a run that has not answered it, to the run that has its
// place by then, before the end of the first one is told: its callers are told by the run that they have asked.
func TestUpdateOfTheNextRun(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{"w": {"deferred d", "done first"}})
		row := rowOf("w", "k")
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		var callers sync.WaitGroup
		ask := func() *result {
			var r result
			callers.Go(func() {
				u := message.Update{Origin: journal.OriginOfRequest("r"), Name: "add", Input: abi.Nil}
				r.outcome, r.err = f.x.Updates.Update(t.Context(), ref, u)
			})
			return &r
		}
		var second *result
		f.whenEnded(func() {
			f.setScripts(map[string][]string{"w": {"update", "answer r yes", "done second"}})
			require.Equal(t, "ok\n", f.startOver(row))
			second = ask()
			time.Sleep(time.Second) // until nothing else moves
		})
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		first := ask()
		synctest.Wait()
		require.NoError(t, f.request(ref, "settle", []string{"d"}))
		callers.Wait()
		require.Equal(t, abi.CodeUpdateUnanswered, abi.CodeOf(first.err))
		require.NoError(t, second.err, "the next run has accepted it")
		require.Equal(t, abi.MustMarshal("yes"), second.outcome.Value)
	})
}

// result is what a caller of an update is told.
type result struct {
	outcome abi.Outcome
	err     error
}

// behindBrief is a store in which something happens behind the next read of a brief row, or a later one.
type behindBrief struct {
	Store
	others int // reads before that one
	next   func()
}

func (s *behindBrief) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	row, err := s.Store.Brief(ctx, id)
	if s.others--; s.others < 0 && s.next != nil {
		next := s.next
		s.next = nil
		next()
	}
	return row, err
}

// TestRepeatedUpdateOfARunThatIsReplaced repeats an update to a run that ends, and is replaced, while its row is read:
// the caller is told that the update has no answer, and does not wait for the next run, which has not accepted it.
func TestRepeatedUpdateOfARunThatIsReplaced(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{"w": {"deferred d", "done first"}})
		row := rowOf("w", "k")
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		update := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			u := message.Update{Origin: journal.OriginOfRequest("r"), Name: "add", Input: abi.Nil}
			_, err := f.x.Updates.Update(ctx, ref, u)
			return err
		}
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(update()), "it is accepted")
		reads := &behindBrief{Store: f.stored.Store}
		f.stored.Store = reads
		reads.next = func() {
			require.NoError(t, f.request(ref, "settle", []string{"d"}))
			time.Sleep(time.Second)
			f.setScripts(map[string][]string{"w": {"deferred d", "done second"}})
			require.Equal(t, "ok\n", f.startOver(row))
			time.Sleep(time.Second)
		}
		require.Equal(t, abi.CodeUpdateUnanswered, abi.CodeOf(update()))
	})
}

// TestWaitForTheNextRun waits for an execution by its name behind the end of a run, for the run that has its place by
// then, before the end of the first one is told: that is not what its caller waits for.
func TestWaitForTheNextRun(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{"w": {"deferred d", "done first"}})
		row := rowOf("w", "k")
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		var callers sync.WaitGroup
		wait := func() *toldEnd {
			var e toldEnd
			callers.Go(func() { e.row, e.err = f.x.Ends.Wait(t.Context(), ref) })
			return &e
		}
		var second *toldEnd
		f.whenEnded(func() {
			f.setScripts(map[string][]string{"w": {"sleep 1h", "done second"}})
			require.Equal(t, "ok\n", f.startOver(row))
			second = wait()
			time.Sleep(time.Second) // until nothing else moves
		})
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		first := wait()
		synctest.Wait()
		require.NoError(t, f.request(ref, "settle", []string{"d"}))
		callers.Wait()
		require.NoError(t, first.err)
		require.Equal(t, abi.MustMarshal("first"), first.row.Value)
		require.NoError(t, second.err)
		require.Equal(t, abi.MustMarshal("second"), second.row.Value)
	})
}

// failingBriefs is a store whose next reads of brief rows fail.
type failingBriefs struct {
	Store
	fails int
}

func (s *failingBriefs) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("no connection")
	}
	return s.Store.Brief(ctx, id)
}

// TestStartBehindAFault starts an execution over whose last run the host has failed at, while the store does not tell
// whether that is to be paused: the new run begins all the same, and does not wait for the next scan.
func TestStartBehindAFault(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{"w": {"deferred d", "done first"}})
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		reads := &failingBriefs{Store: f.stored.Store}
		f.stored.Store = reads
		f.panicAt = faultpoint.FinalAfterCommit
		f.whenEnded(func() { reads.fails = 1 })
		require.NoError(t, f.request(request.Ref{ID: row.ID, Name: row.Name()}, "settle", []string{"d"}))
		synctest.Wait()
		r, found := f.x.runs.Get(row.ID)
		require.True(t, found)
		require.Equal(t, quarantined, r.life.phase)
		f.setScripts(map[string][]string{"w": {"done second"}})
		require.Equal(t, "ok\n", f.startOver(row))
		time.Sleep(time.Minute)
		synctest.Wait()
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
		require.Equal(t, abi.MustMarshal("second"), now.Value)
	})
}

// TestMessagesToARunThatIsReplaced sends a signal and an update to an execution, by its name, whose run ends and is
// replaced behind the read of its row: the run that is there receives them.
func TestMessagesToARunThatIsReplaced(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{"w": {"deferred d", "done ok"}})
		row := rowOf("w", "k")
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		reads := &behindBrief{Store: f.stored.Store}
		f.stored.Store = reads
		replaceBy := func(script ...string) func() {
			return func() {
				require.NoError(t, f.request(ref, "settle", []string{"d"}))
				time.Sleep(time.Second)
				f.setScripts(map[string][]string{"w": script})
				require.Equal(t, "ok\n", f.startOver(row))
				time.Sleep(time.Second)
			}
		}
		reads.next = replaceBy("receive s", "deferred d", "done ok")
		require.NoError(t, f.request(ref, "signal", []string{"s"}))
		synctest.Wait()
		reads.next = replaceBy("update; deferred d", "answer r yes", "done ok")
		u := message.Update{Origin: journal.OriginOfRequest("r"), Name: "add", Input: abi.Nil}
		outcome, err := f.x.Updates.Update(t.Context(), ref, u)
		require.NoError(t, err)
		require.Equal(t, abi.MustMarshal("yes"), outcome.Value)
		rows, err := f.store.Earlier(t.Context(), row.ID, 0, 100)
		require.NoError(t, err)
		require.Len(t, rows, 2)
	})
}

// TestUpdateBehindADeletedRun sends an update to an execution, by its name, whose run ends and is deleted meanwhile,
// and is started again: the caller is answered by the new run, though it is told that the first one is gone.
func TestUpdateBehindADeletedRun(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, f *fixture) {
		f.setScripts(map[string][]string{"w": {"deferred d", "done ok"}})
		row := rowOf("w", "k")
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		reads := &behindBrief{Store: f.stored.Store, others: 1}
		f.stored.Store = reads
		reads.next = func() { // behind the read of the row that it is sent to
			require.NoError(t, f.request(ref, "settle", []string{"d"}))
			time.Sleep(time.Second)
			fence := f.commits.fences[row.ID.Shard()]
			require.NoError(t, f.store.Delete(t.Context(), fence, row.ID, row.Run, 0))
			f.setScripts(map[string][]string{"w": {"update", "answer r yes", "done ok"}})
			_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
			require.NoError(t, err)
			time.Sleep(time.Second)
			f.x.shared.tellDeleted(row.ID, row.Chain)
		}
		u := message.Update{Origin: journal.OriginOfRequest("r"), Name: "add", Input: abi.Nil}
		outcome, err := f.x.Updates.Update(t.Context(), ref, u)
		require.NoError(t, err)
		require.Equal(t, abi.MustMarshal("yes"), outcome.Value)
	})
}
