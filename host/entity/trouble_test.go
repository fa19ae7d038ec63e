package entity

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/journal"
)

// TestMessagesKeepTheirOrderInTrouble has the commit of a message fail while the next one is in memory: that waits for
// the first.
func TestMessagesKeepTheirOrderInTrouble(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold()
			for i := range int64(3) {
				require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1+i)))
				synctest.Wait()
			}
			f.commits.taken()
			f.commits.script("fail")
			f.release()
			time.Sleep(time.Minute)
			synctest.Wait()
			var taken []uint64
			for _, w := range f.commits.taken() {
				taken = append(taken, w.Take...)
			}
			require.Len(t, taken, 3)
			require.True(t, slices.IsSorted(taken), "%v", taken)
		})
	})
}

// TestMessageOfAJoinedCallDoesNotHideALowerOne: a call that waits is joined to a message that was sent later
// than one behind it. If the commit of both fails, both are read again before anything that came after the
// lower one has its turn.
func TestMessageOfAJoinedCallDoesNotHideALowerOne(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold()
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			<-f.began
			call := f.goCall(t.Context(), by(add("a", 10), origin(9)))
			synctest.Wait()
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 2)))
			synctest.Wait()
			destroyed := make(chan error, 1)
			go func() { destroyed <- f.x.Caller.Destroy(t.Context(), refTo("a"), origin(8)) }()
			synctest.Wait()
			require.NoError(t, f.x.Sender.Send(t.Context(), by(add("a", 10), origin(9))))
			synctest.Wait()
			f.commits.script("", "fail")
			f.release()
			require.Error(t, (<-call).err, "its commit has failed, and its message is in the inbox")
			require.NoError(t, <-destroyed)
			time.Sleep(time.Minute)
			synctest.Wait()
			value, _ := f.stored("a")
			require.EqualValues(t, 10, value, "the entity was destroyed behind the message that was sent before")
		})
	})
}

// TestRepeatedMessageLeavesTheInbox also if it cannot be taken out at once.
func TestRepeatedMessageLeavesTheInbox(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, mishap := range []string{"fail", "drop", "lose"} {
			t.Run(mishap, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, kind)
					f.hold()
					call := f.goCall(t.Context(), by(add("a", 1), origin(1)))
					<-f.began
					require.NoError(t, f.x.Sender.Send(t.Context(), by(add("a", 1), origin(1))))
					synctest.Wait()
					f.commits.script("", mishap)
					f.release()
					require.NoError(t, (<-call).err)
					time.Sleep(time.Minute)
					synctest.Wait()
					n, _ := f.stored("a")
					require.EqualValues(t, 1, n)
					left, err := f.store.Inbox(t.Context(), journal.Receiver{ID: refTo("a").ID()}, 0)
					require.NoError(t, err)
					require.Empty(t, left)
				})
			})
		}
	})
}

// TestMessageWhoseAnswerWasLost is performed, though its sender does not know that it was sent.
func TestMessageWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.commits.script("lose")
			require.Error(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			synctest.Wait()
			n, _ := f.stored("a")
			require.EqualValues(t, 1, n)
		})
	})
}

// TestMessageThatWasTaken: a message taken by a commit whose answer was lost is done, also if it
// leaves no receipt.
func TestMessageThatWasTaken(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			f.commits.script("", "lose")
			require.NoError(t, f.x.Sender.Send(t.Context(), gateway("save")))
			time.Sleep(time.Hour)
			total, ran := l.counts()
			require.Equal(t, []int{1, 1}, []int{total, ran})
		})
	})
}

// TestIdempotencyKeysDiffer also of messages that are not repeated.
func TestIdempotencyKeysDiffer(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			var keys []string
			f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
				f.mu.Lock()
				defer f.mu.Unlock()
				keys = append(keys, call.IdempotencyKey)
				return l.run(call)
			}
			f.commits.script("", "conflict")
			for range 2 {
				require.NoError(t, f.x.Sender.Send(t.Context(), gateway("save")))
				time.Sleep(time.Second)
			}
			synctest.Wait()
			require.Len(t, keys, 3)
			require.Equal(t, keys[0], keys[1], "an attempt has the key of its message")
			require.NotEqual(t, keys[0], keys[2])
		})
	})
}

// TestMessagesTakeMemory of the budget, and are read as far as there is some: at least one.
func TestMessagesTakeMemory(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold()
			all, ok := f.queued.TryAcquire(f.queued.Total() - 3*call.Cost)
			require.True(t, ok)
			const messages = 20
			for i := range messages {
				// As a host that has ended would have left them.
				e := journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: origin(byte(i))}
				f.fill(
					refTo("a").ID(),
					call.Posted(e, journal.Caller{}, call.Parcel{
						Entity: "bank/Counter/a", Input: abi.MustMarshal(1), Namespace: "default",
					}),
				)
			}
			f.x.Recover(t.Context())
			synctest.Wait()
			f.x.actors.WhileParked(refTo("a").ID(), func(e *entity) (message, bool) {
				_, messages := e.mailbox.Size()
				require.Equal(t, 2, messages)
				return nil, false
			})
			f.release()
			time.Sleep(time.Hour)
			n, _ := f.stored("a")
			require.EqualValues(t, messages, n)
			all.Release()
			require.Zero(t, f.queued.Used(), "the entity is not in memory")
		})
	})
}

// TestStatesLeaveRoomForCalls: states of entities that are not called do not keep others from
// being called.
func TestStatesLeaveRoomForCalls(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		all, ok := f.queued.TryAcquire(f.queued.Total() - 10*call.Cost)
		require.True(t, ok)
		defer all.Release()
		for i := range 100 {
			f.value(f.x.Caller.Call(t.Context(), add(fmt.Sprint(i), 5)))
		}
		large := operation("a", "fail")
		large.Input = abi.MustMarshal(make([]byte, 2*call.Cost))
		_, err := f.x.Caller.Call(t.Context(), large)
		require.NoError(t, err)
	})
}

// TestDeadlineOfACallThatWaits in the inbox says that it was accepted, and it runs.
func TestDeadlineOfACallThatWaits(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			free := make(chan struct{})
			f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
				<-free
				return l.run(call)
			}
			for range 2 { // as many as may run together
				require.NoError(t, f.x.Sender.Send(t.Context(), gateway("save")))
			}
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			call := f.goCall(ctx, by(gateway("save"), origin(1)))
			synctest.Wait()
			cancel()
			require.ErrorContains(t, (<-call).err, "it was accepted")
			close(free)
			synctest.Wait()
			total, _ := l.counts()
			require.Equal(t, 3, total)
		})
	})
}

// TestDeadlineOfBestEffort does not promise that the call can be repeated.
func TestDeadlineOfBestEffort(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			free := make(chan struct{})
			f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
				<-free
				return l.run(call)
			}
			ctx, cancel := context.WithCancel(t.Context())
			call := f.goCall(ctx, by(gateway("look"), origin(1)))
			synctest.Wait()
			cancel()
			err := abi.AsError((<-call).err)
			require.Equal(t, abi.CodeDeadline, err.Code)
			require.NotContains(t, err.Hint, "twice")
			close(free)
		})
	})
}
