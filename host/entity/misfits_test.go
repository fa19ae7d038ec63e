package entity

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// faultyGuests are guests that a bug of the host keeps from running an operation, and those beside it.
type faultyGuests struct {
	Guests
	operation string
}

func (g faultyGuests) Operations(ctx context.Context, t Target, body *abi.Operations) (*Ran, error) {
	if slices.ContainsFunc(body.Operations, func(o abi.EntityCall) bool { return o.Operation == g.operation }) {
		panic("a bug of the host")
	}
	return g.Guests.Operations(ctx, t, body)
}

// TestHostFaultParksOneMessage: the messages of its batch are performed, those in front of it and those behind.
func TestHostFaultParksOneMessage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.x.Guests = faultyGuests{f, "spin"}
			f.hold()
			require.NoError(t, f.x.Send(t.Context(), add("a", 1)))
			<-f.began
			for _, req := range []CallRequest{add("a", 2), operation("a", "spin"), add("a", 4), add("a", 8)} {
				require.NoError(t, f.x.Send(t.Context(), req))
			}
			synctest.Wait()
			f.release()
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"spin CR-5001"}, f.parked("a"))
			require.Equal(t, maxMisfits, f.parkedIn("a")[0].Attempts)
			require.Empty(t, f.waitingMail("a"))
			value, _ := f.stored("a")
			require.EqualValues(t, 15, value)
		})
	})
}

// TestMessagesWithoutCodeAreCountedOneByOne: a message has all its attempts, whatever came before it.
func TestMessagesWithoutCodeAreCountedOneByOne(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.mu.Lock()
			delete(f.types, "Counter")
			f.mu.Unlock()
			send := func(name string) {
				f.fill(refTo("a").ID(), posted(journal.Envelope{Kind: journal.CallMessage, Name: name, Origin: journal.NewOrigin()}, journal.Caller{},
					parcel{Entity: refTo("a").String(), Namespace: "default"}))
				f.x.actors.Post(refTo("a").ID(), mail{})
			}
			send("add")
			time.Sleep(20 * time.Second) // nine attempts
			synctest.Wait()
			require.Empty(t, f.parked("a"))
			send("fail")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Equal(t, []string{"add CR-6001"}, f.parked("a"))
			require.Equal(t, []string{"fail"}, f.waitingMail("a"))
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			found := f.parkedIn("a")
			require.Len(t, found, 2)
			for i := range found {
				require.Equal(t, maxMisfits, found[i].Attempts)
			}
		})
	})
}

// TestAttemptsOfAMessageThatIsGone are forgotten: the commit that parked it may have lost its answer, and it
// has all attempts again if it is retried.
func TestAttemptsOfAMessageThatIsGone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		e := newEntity(f.x, refTo("a").ID())
		f.fill(e.id, posted(journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: journal.NewOrigin()}, journal.Caller{},
			parcel{Entity: refTo("a").String(), Namespace: "default"}))
		reads(t, e)()
		there := e.queue[0].position
		e.misfits = map[uint64]int{there: 3, there + 1: maxMisfits}
		reads(t, e)()
		require.Equal(t, map[uint64]int{there: 3}, e.misfits)
		e.startMisfits[there+2] = maxMisfits - 1
		e.endStarts(nil)
		require.Empty(t, e.startMisfits)
	})
}
