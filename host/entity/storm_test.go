package entity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// storm is how many requests are repeated at once.
const storm = 50

// stormOrigin is the origin of the nth request.
func stormOrigin(n int) journal.Origin { return journal.Origin{byte(n), byte(n >> 8), 7} }

// newStorm performs requests on a host that ends then, and on the next one, with an operation at
// work, repeats a part of them beside others that are new.
func newStorm(t *testing.T, kind string) *fixture {
	f := newFixture(t, kind)
	for n := range 2 * storm {
		require.EqualValues(t, n+1, f.value(f.x.Caller.Call(t.Context(), by(add("a", 1), stormOrigin(n)))))
	}
	f.crash()
	f.store.receipts.Store(0)
	return f
}

// repeat repeats requests from the nth on in one batch, with as many that are new, and checks the answers.
func (f *fixture) repeat(n int, again bool) {
	f.t.Helper()
	before, _ := f.stored("a")
	f.hold()
	first := f.goCall(f.t.Context(), operation("a", "fail"))
	<-f.began
	var repeated, fresh []<-chan result
	for i := n; i < n+storm; i++ {
		req := by(add("a", 1), stormOrigin(i))
		req.Again = again
		repeated = append(repeated, f.goCall(f.t.Context(), req))
		fresh = append(fresh, f.goCall(f.t.Context(), by(add("a", 1), stormOrigin(1000+i))))
	}
	f.queuedCalls("a", 2*storm)
	f.release()
	<-first
	for i := range storm {
		r := <-repeated[i]
		require.EqualValues(f.t, n+i+1, f.value(r.outcome, r.err), "the first outcome")
		r = <-fresh[i]
		f.value(r.outcome, r.err)
	}
	after, _ := f.stored("a")
	require.Equal(f.t, before+storm, after)
}

// TestStormOfRepeatedCalls: calls that their callers mark as repeated are looked up together before
// anything runs. Those beside them run once, and their commit is not refused.
func TestStormOfRepeatedCalls(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newStorm(t, kind)
		f.repeat(0, true)
		require.EqualValues(t, 1, f.store.receipts.Load())
		require.Zero(t, f.commits.refused())
		f.repeat(storm, true)
		require.EqualValues(t, 2, f.store.receipts.Load())
		require.Zero(t, f.commits.refused())
	})
}

// TestStormOfRepeatedSends: a message that is sent again is found by its origin, or by its receipt, however many others
// wait or are parked.
func TestStormOfRepeatedSends(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		require.NoError(t, f.x.Sender.Send(t.Context(), by(add("a", 1), stormOrigin(0))))
		f.sendParked("a", stormOrigin(1))
		f.hold()
		require.NoError(t, f.x.Sender.Send(t.Context(), by(add("a", 1), stormOrigin(2))))
		<-f.began
		require.NoError(t, f.x.Sender.Send(t.Context(), by(add("a", 1), stormOrigin(3))))
		f.store.receipts.Store(0)
		f.store.inboxes.Store(0)
		for range 10 {
			for n, req := range []call.Request{add("a", 1), operation("a", "crash"), add("a", 1), add("a", 1)} {
				require.NoError(t, f.x.Sender.Send(t.Context(), by(req, stormOrigin(n))))
			}
		}
		require.Zero(t, f.store.inboxes.Load())
		require.EqualValues(t, 10, f.store.receipts.Load(), "of the one that was performed")
		f.release()
		require.EqualValues(t, 3, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
	})
}

// TestStormWithoutMarks: the first commit finds out that calls are repeated. From then on batches
// look first, with one read each.
func TestStormWithoutMarks(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newStorm(t, kind)
		f.repeat(0, false)
		require.EqualValues(t, 1, f.store.receipts.Load())
		require.Equal(t, 1, f.commits.refused())
		f.repeat(storm, false)
		require.LessOrEqual(t, f.store.receipts.Load(), int64(2))
		require.Equal(t, 1, f.commits.refused())
		for n := range 2 * waryBatches {
			f.value(f.x.Caller.Call(t.Context(), by(add("a", 1), stormOrigin(5000+n))))
		}
		reads := f.store.receipts.Load()
		require.LessOrEqual(t, reads, int64(2+waryBatches))
		f.value(f.x.Caller.Call(t.Context(), by(add("a", 1), stormOrigin(6000))))
		require.Equal(t, reads, f.store.receipts.Load(), "the storm is over")
	})
}
