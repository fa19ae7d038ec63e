package entity

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// leaves is a workflow that may leave memory while it waits.
type leaves struct {
	*workflow
	left chan struct{}
}

func (f *fixture) newLeaver(key string) *leaves {
	return &leaves{f.newWorkflow(key), make(chan struct{})}
}

func (l *leaves) patience() call.Patience { return call.Patience{ReplyTo: l.step.Run, Left: l.left} }

// calls is a call that it makes outside of a section.
func (l *leaves) calls(req call.Request) call.Request {
	req = l.asks(req)
	req.Section, req.Patience = journal.StepID{}, l.patience()
	return req
}

// answers returns the answers sent to it, by their steps.
func (l *leaves) answers() map[journal.StepID]abi.Outcome {
	l.f.t.Helper()
	inbox := journal.Receiver{ID: l.step.ID, Chain: l.step.Run}
	found, _, err := l.f.store.Messages(context.Background(), inbox, 0, journal.PageLimit{Entries: 100, Bytes: 1 << 20})
	require.NoError(l.f.t, err)
	answers := map[journal.StepID]abi.Outcome{}
	for _, m := range found {
		require.Equal(l.f.t, journal.ResultMessage, m.Kind)
		if m.From.Step != l.step.Step { // a lock's is its own
			require.Equal(l.f.t, journal.OriginOf(l.step.Run, m.From.Step), m.Origin)
		}
		require.NotContains(l.f.t, answers, m.From.Step)
		outcome, damaged := abi.DecodeAs[abi.Outcome](m.Value)
		require.Nil(l.f.t, damaged)
		answers[m.From.Step] = *outcome
	}
	return answers
}

func (l *leaves) awaitAnswer(step journal.StepID) abi.Outcome {
	l.f.t.Helper()
	require.Eventually(l.f.t, func() bool {
		_, is := l.answers()[step]
		return is
	}, testTimeout, testTick)
	return l.answers()[step]
}

// mail is how many messages are in the inbox of an entity.
func (f *fixture) mail(key string) int {
	f.t.Helper()
	found, err := f.store.Inbox(context.Background(), journal.Receiver{ID: refTo(key).ID()}, 0)
	require.NoError(f.t, err)
	return len(found)
}

// TestWorkflowsLeaveWhileTheyWait has workflows wait for an entity that another holds: for a call,
// a read and a lock. They leave, and the host ends. Each is sent its answer when the section has
// ended, and is answered the same if it asks again.
func TestWorkflowsLeaveWhileTheyWait(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		holder, v, locker := f.newWorkflow("holder"), f.newLeaver("v"), f.newLeaver("locker")
		holder.lock("a")
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(ctx, holder.asks(add("a", 1)))))
		added, reading := v.calls(add("a", 10)), v.calls(operation("a", "get"))
		called, read := f.goCall(ctx, added), f.goCall(ctx, reading)
		locked := make(chan error, 1)
		go func() { locked <- f.x.Caller.Lock(ctx, locker.step, locker.patience(), refTo("a"), refTo("b")) }()
		f.queuedCalls("a", 3)
		close(v.left)
		close(locker.left)
		require.ErrorIs(t, (<-called).err, call.ErrLeft)
		require.ErrorIs(t, (<-read).err, call.ErrLeft)
		require.ErrorIs(t, <-locked, call.ErrLeft)
		require.Equal(t, 3, f.mail("a"))
		again := f.goCall(ctx, added)
		require.ErrorIs(t, (<-again).err, call.ErrLeft, "it is there already")
		require.ErrorIs(t, f.x.Caller.Lock(ctx, locker.step, locker.patience(), refTo("a"), refTo("b")), call.ErrLeft)
		require.Equal(t, 3, f.mail("a"))
		require.Empty(t, v.answers())

		f.crash()
		require.EqualValues(t, 2, f.value(f.x.Caller.Call(ctx, holder.asks(add("a", 1)))), "the section goes on")
		holder.end()
		locker.awaitAnswer(locker.step.Step)
		row, err := f.store.Lock(ctx, refTo("a").ID())
		require.NoError(t, err)
		require.Equal(t, locker.step, row.Holder)
		locker.left = make(chan struct{})
		require.NoError(
			t, f.x.Caller.Lock(ctx, locker.step, locker.patience(), refTo("a"), refTo("b")),
			"it goes on to lock the next one",
		)
		locker.end()
		require.EqualValues(t, 12, f.value(v.awaitAnswer(added.From.Step), nil))
		require.Contains(t, []int64{2, 12}, f.value(v.awaitAnswer(reading.From.Step), nil))
		require.EqualValues(t, 12, f.value(f.x.Caller.Call(ctx, added)), "the receipt answers it")
		require.Zero(t, f.mail("a"))
		n, _ := f.stored("a")
		require.EqualValues(t, 12, n)
	})
}

// TestWhatIsAtWorkIsWaitedFor: a workflow whose call is at work is answered from memory, and sent nothing.
func TestWhatIsAtWorkIsWaitedFor(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		v, w := f.newLeaver("v"), f.newLeaver("w")
		f.hold()
		first := f.goCall(ctx, v.calls(add("a", 1)))
		<-f.began
		queued := w.calls(add("a", 2))
		second := f.goCall(ctx, queued)
		f.queuedCalls("a", 1)
		close(v.left)
		close(w.left)
		require.ErrorIs(t, (<-second).err, call.ErrLeft)
		require.Equal(t, 1, f.mail("a"))
		require.Empty(t, first)
		f.release()
		got := <-first
		require.EqualValues(t, 1, f.value(got.outcome, got.err))
		require.EqualValues(t, 3, f.value(w.awaitAnswer(queued.From.Step), nil))
		require.Empty(t, v.answers())
	})
}

// TestCallsOfASectionStay: calls in the inbox would wait for the end of the section.
func TestCallsOfASectionStay(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		v := f.newLeaver("v")
		v.lock("a")
		req := v.asks(add("a", 1))
		req.Patience = v.patience()
		close(v.left)
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(ctx, req)))
		require.Empty(t, v.answers())
		require.Zero(t, f.mail("a"))
	})
}

// TestAnswersAreSentOnce has the host end around each commit of a request that was left behind: of its message, and of
// its answer. It is performed once, and its answer sent once; a lock is held, and its workflow told.
func TestAnswersAreSentOnce(t *testing.T) {
	t.Parallel()
	for n, point := range []string{
		faultpoint.EntityReceiveBefore, faultpoint.EntityReceiveAfter, faultpoint.EntityBeforeCommit,
		faultpoint.EntityAfterCommit,
		faultpoint.LockBeforeCommit, faultpoint.LockAfterCommit,
	} {
		for _, kind := range stores {
			t.Run(point+" "+kind, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, kind)
				ctx := context.Background()
				holder, v, locker := f.newWorkflow("holder"), f.newLeaver("v"), f.newLeaver("locker")
				holder.lock("a")
				req := v.calls(add("a", 10))
				close(v.left)
				close(locker.left)
				leave := func() *sync.WaitGroup { // as a run does that was loaded anew
					x, asked := f.x, &sync.WaitGroup{}
					asked.Go(func() { _, _ = x.Caller.Call(ctx, req) })
					asked.Go(func() { _ = x.Caller.Lock(ctx, locker.step, locker.patience(), refTo("a")) })
					return asked
				}
				died := make(chan struct{})
				if n < 2 {
					f.crashAt(point, died)
					leave()
					<-died
					f.crash()
				}
				leave().Wait() // a lock that is asked for once more when it was given leaves another message
				require.Equal(t, 2, f.mail("a"))
				f.settle()
				if n >= 2 {
					f.crashAt(point, died)
				}
				holder.end()
				if n >= 2 {
					<-died
					f.crash()
				}
				locker.awaitAnswer(locker.step.Step)
				locker.end()
				require.EqualValues(t, 10, f.value(v.awaitAnswer(req.From.Step), nil))
				row, _ := f.stored("a")
				require.EqualValues(t, 10, row)
				require.Zero(t, f.mail("a"))
				require.Len(t, v.answers(), 1)
			})
		}
	}
}

// TestWorkflowsLeaveEntitiesWithoutAState: a call that waits for its turn is left behind, persisted
// or not, and a running one is waited for. The answer of a persisted call commits with its SQL.
func TestWorkflowsLeaveEntitiesWithoutAState(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f, l := newLedger(t, kind)
		ctx := context.Background()
		gate := make(chan struct{})
		f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
			<-gate
			return l.run(call)
		}
		f.types["Gateway"].Concurrency = 1
		v, w := f.newLeaver("v"), f.newLeaver("w")
		first := f.goCall(ctx, v.calls(gateway("save")))
		<-f.began
		persisted, once := w.calls(gateway("save")), w.calls(gateway("look"))
		second, third := f.goCall(ctx, persisted), f.goCall(ctx, once)
		require.Eventually(t, func() bool {
			waiting := 0
			f.x.actors.WhileParked(persisted.Entity.ID(), func(e *entity) (message, bool) {
				waiting = len(e.mailbox.Concurrent())
				return nil, false
			})
			return waiting == 2
		}, testTimeout, testTick)
		close(v.left)
		close(w.left)
		require.ErrorIs(t, (<-second).err, call.ErrLeft)
		require.ErrorIs(t, (<-third).err, call.ErrLeft)
		again := f.goCall(ctx, persisted)
		require.ErrorIs(t, (<-again).err, call.ErrLeft)
		close(gate)
		got := <-first
		require.EqualValues(t, 1, f.value(got.outcome, got.err))
		sums := []int64{f.value(w.awaitAnswer(persisted.From.Step), nil), f.value(w.awaitAnswer(once.From.Step), nil)}
		require.ElementsMatch(t, []int64{2, 3}, sums)
		require.Empty(t, v.answers())
		require.Zero(t, f.inbox())
		require.Equal(t, sums[0], f.value(f.x.Caller.Call(ctx, persisted)), "the receipt answers it")
		total, _ := l.counts()
		require.Equal(t, 3, total)
	})
}
