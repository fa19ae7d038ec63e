package entity

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
)

// retryOnceParked retries the messages of an entity between the commit that parks one of them and
// the moment in which the entity is told of it. In between, the entity reads its inbox. The result
// of the retry can be received.
func (f *fixture) retryOnceParked(ref target.Ref, repair func()) <-chan int {
	retried, before := make(chan int, 1), f.x.workers.commits.Fault
	var once atomic.Bool
	f.x.workers.commits.Fault = func(point string) {
		before(point)
		if point != faultpoint.EntityAfterCommit || !once.CompareAndSwap(false, true) {
			return
		}
		repair()
		n, err := f.x.Parked.Retry(context.Background(), ref, nil)
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
			require.NoError(t, f.x.Sender.Send(t.Context(), by(operation("a", "crash"), origin(1))))
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
				f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
					call.Operation = "save"
					return l.run(call)
				}
			})
			require.NoError(t, f.x.Sender.Send(t.Context(), by(gateway("crash"), origin(1))))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, 1, <-retried)
			require.Zero(t, f.inbox())
			total, _ := l.counts()
			require.Equal(t, 1, total)
		})
	})
}
