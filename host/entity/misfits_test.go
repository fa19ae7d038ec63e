package entity

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// faultyGuests are guests that a bug of the host keeps from running an operation, and those beside it.
type faultyGuests struct {
	Guests
	operation string
	reported  bool // as an error, not as a panic
}

func (g faultyGuests) Operations(ctx context.Context, t target.Target, body *abi.Operations) (*instance.Result, error) {
	if slices.ContainsFunc(body.Operations, func(o abi.EntityCall) bool { return o.Operation == g.operation }) {
		if g.reported {
			return nil, abi.Errorf(abi.CodeInternal, "the engine panicked")
		}
		panic("a bug of the host")
	}
	return g.Guests.Operations(ctx, t, body)
}

// TestHostFaultParksOneMessage: the messages of its batch are performed, those in front of it and those behind.
func TestHostFaultParksOneMessage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		t.Run("panic", func(t *testing.T) { testHostFaultParksOneMessage(t, kind, false) })
		t.Run("error", func(t *testing.T) { testHostFaultParksOneMessage(t, kind, true) })
	})
}

func testHostFaultParksOneMessage(t *testing.T, kind string, reported bool) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, kind)
		f.x.workers.batches.Guests = faultyGuests{f, "spin", reported}
		f.hold()
		require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
		<-f.began
		for _, req := range []call.Request{add("a", 2), operation("a", "spin"), add("a", 4), add("a", 8)} {
			require.NoError(t, f.x.Sender.Send(t.Context(), req))
		}
		synctest.Wait()
		f.release()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"spin CR-5001"}, f.parked("a"))
		require.Equal(t, parked.MaxAttempts, f.parkedIn("a")[0].Attempts)
		require.Empty(t, f.waitingMail("a"))
		value, _ := f.stored("a")
		require.EqualValues(t, 15, value)
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
				f.fill(
					refTo("a").ID(),
					call.Posted(
						journal.Envelope{Kind: journal.CallMessage, Name: name, Origin: journal.NewOrigin()},
						journal.Caller{},
						call.Parcel{Entity: refTo("a").String(), Namespace: "default"},
					),
				)
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
				require.Equal(t, parked.MaxAttempts, found[i].Attempts)
			}
		})
	})
}

// TestPersistedCallIsNotTriedForEver: a persisted call that the host cannot perform fails in the end, also if its
// caller, or the host of that, is gone. The calls behind it have their turn, and a repeated request is answered.
func TestPersistedCallIsNotTriedForEver(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, trouble := range []string{"host fault", "host fault after a crash", "no type after a crash"} {
			t.Run(trouble, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, l := newLedger(t, kind)
					gatewayType := f.types["Gateway"]
					gatewayType.Concurrency = 1
					faulty := func(call instance.StatelessCall) (*instance.StatelessResult, error) {
						if call.Operation == "save" {
							panic("a bug of the host")
						}
						return l.run(call)
					}
					proceed, over := make(chan struct{}), f.life.Context().Done()
					f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
						select {
						case <-proceed:
							return faulty(call)
						case <-over:
							return nil, context.Canceled
						}
					}
					ctx, cancel := context.WithCancel(t.Context())
					call := f.goCall(ctx, by(gateway("save"), origin(1)))
					synctest.Wait()
					cancel()
					require.Equal(t, abi.CodeDeadline, abi.CodeOf((<-call).err))
					require.NoError(t, f.x.Sender.Send(t.Context(), gateway("look")))
					want := abi.CodeInternal
					if trouble == "no type after a crash" {
						delete(f.types, "Gateway")
						want = abi.CodeUnknownEntity
					}
					if trouble != "host fault" {
						f.end()
						f.stateless = faulty
						f.boot()
					}
					close(proceed)
					time.Sleep(10 * time.Minute)
					synctest.Wait()
					require.Zero(t, f.inbox())
					receipt, err := f.store.Receipt(t.Context(), gateway("").Entity.ID(), origin(1))
					require.NoError(t, err)
					require.Equal(t, want, receipt.Error.Code)
					found, err := f.x.Parked.List(t.Context(), journal.ParkedFilter{})
					require.NoError(t, err)
					f.types["Gateway"] = gatewayType
					o, err := f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1)))
					require.NoError(t, err)
					require.Equal(t, want, o.Error.Code)
					if want == abi.CodeInternal {
						require.Empty(t, found)
						_, ran := l.counts()
						require.Equal(t, 1, ran, "what was sent behind it")
					}
				})
			})
		}
	})
}
