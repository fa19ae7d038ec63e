package entity

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// retryOnceParked retries the messages of an entity between the commit that parks one of them and
// the moment in which the entity is told of it. In between, the entity reads its inbox. The result
// of the retry can be received.
func (f *fixture) retryOnceParked(ref target.Ref, repair func()) <-chan int {
	retried, before := make(chan int, 1), f.x.commits.Fault
	var once atomic.Bool
	f.x.commits.Fault = func(point string) {
		before(point)
		if point != faultpoint.EntityAfterCommit || !once.CompareAndSwap(false, true) {
			return
		}
		repair()
		n, err := f.x.Parked().Retry(context.Background(), ref, nil)
		if err != nil {
			n = -1
		}
		retried <- n
		time.Sleep(time.Second) // of the bubble: the page is read, and handed over
	}
	return retried
}

// TestRetryBeforeTheEntityKnows that the message is parked has it performed, once.
func TestRetryBeforeTheEntityKnows(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			retried := f.retryOnceParked(refTo("a"), f.repair)
			require.NoError(t, f.x.Send(t.Context(), operation("a", "crash").by(origin(1))))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, 1, <-retried)
			require.Empty(t, f.parked("a"))
			require.Empty(t, f.waitingMail("a"))
			value, _ := f.stored("a")
			require.EqualValues(t, 1, value)
		})
	})
}

// TestRetryBeforeAnEntityWithoutAStateKnows that the message is parked has it performed, once.
func TestRetryBeforeAnEntityWithoutAStateKnows(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			retried := f.retryOnceParked(gateway("").Entity, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.stateless = func(call instance.StatelessCall) (*instance.StatelessRan, error) {
					call.Operation = "save"
					return l.run(call)
				}
			})
			require.NoError(t, f.x.Send(t.Context(), gateway("crash").by(origin(1))))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, 1, <-retried)
			require.Zero(t, f.inbox())
			total, _ := l.counts()
			require.Equal(t, 1, total)
		})
	})
}

// TestRetryWhileTheInboxIsRead: the page has the retried message and comes after the end of the batch that
// parked it, as a page from before that batch would. So the inbox is read again, and later calls wait for it.
func TestRetryWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		e := newEntity(f.x, refTo("a").ID())
		f.fill(
			e.id,
			call.Posted(
				journal.Envelope{Kind: journal.CallMessage, Name: "crash", Origin: journal.NewOrigin()},
				journal.Caller{},
				call.Parcel{Entity: refTo("a").String(), Namespace: "default"},
			),
		)
		reads(t, e)()
		require.Len(t, e.queue, 1)
		at := e.queue[0]
		e.queue, e.batch = nil, []*call.Call{at}
		e.unqueue(at)

		handOver := reads(t, e)
		e.receive(mail{at.Position})
		e.unread = false // the page is read for that
		e.endBatch(batch.Result{Answers: map[*call.Call]call.Answer{at: {Parked: true}}})
		handOver()
		require.Empty(t, e.queue)
		require.True(t, e.unread)
		require.False(t, e.barren)
		require.Less(t, e.seen, at.Position)
		reads(t, e)()
		require.Len(t, e.queue, 1)
		require.GreaterOrEqual(t, e.seen, at.Position)
		require.False(t, e.unread)
	})
}
