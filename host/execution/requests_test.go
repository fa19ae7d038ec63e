package execution

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

func TestRefOf(t *testing.T) {
	t.Parallel()
	ref, err := request.RefOf("default", "orders/Process/42")
	require.NoError(t, err)
	require.Equal(t, request.Ref{ID: journal.IDOf("default", "orders/Process", "42"), Name: "orders/Process/42"}, ref)
	for _, name := range []string{"", "orders", "orders/Process"} {
		_, err := request.RefOf("default", name)
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err), "%q", name)
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		ref, nowhere := request.Ref{ID: row.ID, Name: row.Name()}, request.Ref{Name: "orders/Process/nowhere"}
		long := strings.Repeat("r", abi.MaxReason+1)
		for name, c := range map[string]struct {
			err  error
			code abi.Code
		}{
			"settle nothing": {
				f.x.Messages.Settle(t.Context(), ref, journal.Deferred{Value: abi.Nil}), abi.CodeBadRequest,
			},
			"settle with rubbish": {
				f.x.Messages.Settle(t.Context(), ref, journal.Deferred{Name: "d", Value: []byte{0xc1}}),
				abi.CodeBadInput,
			},
			"settle elsewhere": {
				f.x.Messages.Settle(t.Context(), nowhere, journal.Deferred{Name: "d", Value: abi.Nil}),
				abi.CodeExecutionNotFound,
			},
			"a long reason":         {f.x.Messages.Interrupt(t.Context(), ref, long), abi.CodeBadRequest},
			"resume a running one":  {f.x.Operator.Resume(t.Context(), ref), abi.CodeNotPaused},
			"fail without a reason": {f.x.Operator.Fail(t.Context(), ref, " "), abi.CodeBadRequest},
			"fail for too long":     {f.x.Operator.Fail(t.Context(), ref, long), abi.CodeBadRequest},
			"fail a running one":    {f.x.Operator.Fail(t.Context(), ref, "enough"), abi.CodeNotPaused},
		} {
			require.Equal(t, c.code, abi.CodeOf(c.err), "%s: %v", name, c.err)
		}
		_, err = f.x.Ends.Wait(t.Context(), nowhere)
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err))
	})
}

// countedInboxes counts the inboxes that are read.
type countedInboxes struct {
	Store
	read atomic.Int64
}

func (s *countedInboxes) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	s.read.Add(1)
	return s.Store.Inbox(ctx, to, after)
}

// TestRepeatedUpdateReadsNoInbox: a request that is repeated is found by its origin, whatever else waits there.
func TestRepeatedUpdateReadsNoInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := rowOf("w", "k")
		f.scripts["w"] = []string{"deferred d"}
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		counted := &countedInboxes{Store: f.stored.Store}
		f.stored.Store = counted
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err = f.x.Updates.Update(ctx, request.RefTo(row), message.Update{
				Origin: journal.OriginOfRequest("1"), Name: "u", Input: abi.Nil,
			})
			cancel()
			require.Equal(t, abi.CodeDeadline, abi.CodeOf(err))
		}
		require.Zero(t, counted.read.Load())
	})
}

// TestDeferredsAreTyped settles deferreds that the workflow does not have, and with values that do
// not fit.
func TestDeferredsAreTyped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["typed"] = []string{"deferred d", "deferred e", "done ok"}
		row := rowOf("typed", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		text := abi.MustMarshal("text")
		for name, c := range map[string]struct {
			d    journal.Deferred
			code abi.Code
		}{
			"another name": {journal.Deferred{Name: "D", Value: text}, abi.CodeUnknownDeferred},
			"a rejection of another": {
				journal.Deferred{Name: "D", Error: &abi.Error{Message: "no"}}, abi.CodeUnknownDeferred,
			},
			"a value of another type": {journal.Deferred{Name: "d", Value: abi.MustMarshal(1)}, abi.CodeBadInput},
			"no value":                {journal.Deferred{Name: "d"}, abi.CodeBadInput},
			"from a step of another": {
				journal.Deferred{Name: "d", Value: abi.MustMarshal(1), Origin: journal.NewOrigin()}, abi.CodeBadInput,
			},
			"a name that is waited for": {journal.Deferred{Name: "e", Value: text}, abi.CodeUnknownDeferred},
		} {
			require.Equal(t, c.code, abi.CodeOf(f.x.Messages.Settle(t.Context(), request.RefTo(row), c.d)), name)
		}
		settled, err := journal.ListSettlements(t.Context(), f.store, row.Settlements())
		require.NoError(t, err)
		require.Empty(t, settled)
		require.NoError(
			t, f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{Name: "d", Value: text}),
		)
	})
}

// TestSettlementIsRepeatedAfterAMove settles once, and again when the execution has gone on with code that does not
// have the deferred.
func TestSettlementIsRepeatedAfterAMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred gone", "deferred d", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		d := journal.Deferred{Name: "gone", Value: abi.MustMarshal("text"), Origin: journal.NewOrigin()}
		require.NoError(t, f.x.Messages.Settle(t.Context(), request.RefTo(row), d))
		synctest.Wait()
		f.programs.workflow = func(context.Context, *journal.Execution) (*abi.WorkflowInfo, error) {
			return &abi.WorkflowInfo{Name: "w", Deferreds: []abi.DeferredInfo{{Name: "d"}}}, nil
		}
		require.NoError(t, f.x.Messages.Settle(t.Context(), request.RefTo(row), d), "it is the same settlement")
		d.Origin = journal.NewOrigin()
		require.Equal(t, abi.CodeUnknownDeferred, abi.CodeOf(f.x.Messages.Settle(t.Context(), request.RefTo(row), d)))
	})
}

// TestRejectionsAreClamped settles with an error of the caller's own making.
func TestRejectionsAreClamped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		rejection := &abi.Error{Code: "mine", Message: strings.Repeat("x", 1<<20)}
		require.NoError(
			t,
			f.x.Messages.Settle(
				t.Context(), request.Ref{ID: row.ID}, journal.Deferred{Name: "d", Value: abi.Nil, Error: rejection},
			),
		)
		synctest.Wait() // the answer comes before the delivery
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 10})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, abi.CodeDeferredRejected, entries[0].Error.Code)
		require.Less(t, len(entries[0].Error.Message), 20_000)
		require.Nil(t, entries[0].Value)
	})
}

// TestRequestsBehindAResume posts several requests at once. The first has the run unloaded; the others are answered
// after it was loaded again.
func TestRequestsBehindAResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.missing = true
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		r := newRun(f.x.shared, row.ID)
		resumed, asked := make(chan error, 1), make(chan inspected, 1)
		again := []notice{
			resumeRequest{resumed},
			f.settled(t, r, journal.Deferred{Name: "d", Value: abi.Nil, At: 2}),
			inspectRequest{asked},
		}
		for len(again) > 0 {
			again = r.Receive(again)
		}
		require.NoError(t, <-resumed)
		require.NoError(t, (<-asked).err)
		after, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Paused, after.State, "its module is still missing")
	})
}

// TestWait waits for an execution, across the deadline of one caller.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 10s", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = f.x.Ends.Wait(ctx, ref)
		require.EqualError(t, err, "CR-5008: the caller's deadline passed before scripts/w/k was over")
		require.Equal(
			t,
			"It goes on, and can be waited for again. 'cruster-host workflow describe scripts/w/k' shows what the "+
				"execution waits for.",
			abi.AsError(err).Hint,
		)
		over, err := f.x.Ends.Wait(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, over.State)
		again, err := f.x.Ends.Wait(t.Context(), ref)
		require.NoError(t, err, "one that is over is not waited for")
		require.Equal(t, over.Value, again.Value)
	})
}

// TestShuttingDownAnswersCallers ends the host while callers wait.
func TestShuttingDownAnswersCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		ref := request.Ref{ID: row.ID, Name: row.Name()}
		waited := make(chan error, 1)
		go func() {
			_, err := f.x.Ends.Wait(t.Context(), ref)
			waited <- err
		}()
		synctest.Wait()
		f.end()
		require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(<-waited))
		require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(f.x.Operator.Resume(t.Context(), ref)))
		_, err = f.x.Inspector.Inspect(t.Context(), ref)
		require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
	})
}
