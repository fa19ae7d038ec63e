package entity

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// sends is a request to send and start.
func sends(key string, in sendsInput) call.Request {
	return call.Request{Entity: refTo(key), Operation: "sends", Input: abi.MustMarshal(&in)}
}

func addTo(entity string, n int64) abi.EntityMessage {
	return abi.EntityMessage{Entity: entity, Operation: "add", Input: abi.MustMarshal(n)}
}

// TestSendsAreReleasedByTheCommit has the receiver see nothing before.
func TestSendsAreReleasedByTheCommit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			began := f.commits.hold()
			call := f.goCall(t.Context(), sends("a", sendsInput{
				Sent: []abi.EntityMessage{
					addTo("Counter/b", 5), addTo("bank/Counter/b", 2), addTo("Counter/a", 100),
				},
				Started: []abi.Call{{Workflow: "Pay", Key: "k", Input: abi.Nil}},
			}))
			<-began
			synctest.Wait()
			require.False(t, f.x.InMemory(refTo("b")))
			require.Empty(t, f.started)
			f.commits.release()
			r := <-call
			require.NoError(t, r.err)
			synctest.Wait()
			n, _ := f.stored("b")
			require.EqualValues(t, 7, n)
			n, _ = f.stored("a")
			require.EqualValues(t, 101, n, "it may send to itself")
			require.Equal(t, []string{"default bank/Pay/k"}, f.started)
			for _, key := range []string{"a", "b"} {
				left, err := f.store.Inbox(t.Context(), journal.Receiver{ID: refTo(key).ID()}, 0)
				require.NoError(t, err)
				require.Empty(t, left)
			}
		})
	})
}

// TestSendsOfACommitThatFails are not sent.
func TestSendsOfACommitThatFails(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.commits.script("fail")
			_, err := f.x.Caller.Call(
				t.Context(),
				sends("a", sendsInput{
					Sent: []abi.EntityMessage{addTo("Counter/b", 5)}, Started: []abi.Call{{Workflow: "Pay"}},
				}),
			)
			require.Equal(t, abi.CodeStore, abi.CodeOf(err))
			synctest.Wait()
			_, there := f.stored("b")
			require.False(t, there)
			require.Empty(t, f.started)
		})
	})
}

// TestSendsThatCannotBe fail their operation, and no other.
func TestSendsThatCannotBe(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		for name, c := range map[string]struct {
			in   sendsInput
			code abi.Code
		}{
			"unknown type": {
				sendsInput{Sent: []abi.EntityMessage{addTo("Counter/b", 1), addTo("Nothing/b", 1)}},
				abi.CodeUnknownEntity,
			},
			"unknown operation": {
				sendsInput{Sent: []abi.EntityMessage{{Entity: "Counter/b", Operation: "x", Input: abi.Nil}}},
				abi.CodeUnknownOperation,
			},
			"no name":          {sendsInput{Sent: []abi.EntityMessage{addTo("b", 1)}}, abi.CodeEntityName},
			"unknown workflow": {sendsInput{Started: []abi.Call{{Workflow: "Unknown"}}}, abi.CodeUnknownWorkflow},
			"too many":         {sendsInput{Started: make([]abi.Call, batch.MaxSent+1)}, abi.CodeOperationCrashed},
		} {
			o, err := f.x.Caller.Call(t.Context(), sends("a", c.in))
			require.NoError(t, err, name)
			require.Equal(t, c.code, o.Error.Code, name)
		}
		_, there := f.stored("a")
		require.False(t, there, "nothing was changed")
		_, there = f.stored("b")
		require.False(t, there, "nothing was sent")
	})
}

// TestMessagesSurviveACrash has a message and a start left behind by a host; the next one performs them, without being
// asked.
func TestMessagesSurviveACrash(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.startError = errors.New("not now")
			died := make(chan struct{})
			f.crashAt("entity.after-commit", died)
			f.goCall(
				t.Context(),
				sends("a", sendsInput{
					Sent: []abi.EntityMessage{addTo("Counter/b", 5)}, Started: []abi.Call{{Workflow: "Pay", Key: "k"}},
				}),
			)
			<-died
			require.Empty(t, f.started)
			_, there := f.stored("b")
			require.False(t, there)
			f.startError = nil
			f.crash()
			synctest.Wait()
			n, _ := f.stored("b")
			require.EqualValues(t, 5, n)
			require.Equal(t, []string{"default bank/Pay/k"}, f.started)
		})
	})
}

// TestStartsAreTriedAgain as long as the host is in the way, and parked if they cannot be.
func TestStartsAreTriedAgain(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.startError = abi.Errorf(abi.CodeOverloaded, "full")
			_, err := f.x.Caller.Call(
				t.Context(),
				sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: "1"}, {Workflow: "Pay", Key: "2"}}}),
			)
			require.NoError(t, err)
			synctest.Wait()
			require.EqualValues(t, 7, f.value(f.x.Caller.Call(t.Context(), add("a", 6))), "others go on")
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			synctest.Wait()
			n, _ := f.stored("a")
			require.EqualValues(t, 8, n, "messages, too")
			f.mu.Lock()
			f.startError = nil
			f.mu.Unlock()
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, []string{"default bank/Pay/1", "default bank/Pay/2"}, f.started)
			f.startError = abi.Errorf(abi.CodeUnknownWorkflow, "gone")
			_, err = f.x.Caller.Call(
				t.Context(), sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: "3"}}}),
			)
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, []string{"Pay CR-2001"}, f.parked("a"))
			left, err := f.store.Inbox(t.Context(), journal.Receiver{ID: refTo("a").ID()}, 0)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	})
}

// TestStartOfADamagedModule is kept until the module is repaired, and does not stand in the way of
// other starts.
func TestStartOfADamagedModule(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.unstartable = map[string]error{"1": abi.Errorf(abi.CodeModuleNotFound, "the module is damaged")}
			_, err := f.x.Caller.Call(
				t.Context(),
				sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: "1"}, {Workflow: "Pay", Key: "2"}}}),
			)
			require.NoError(t, err)
			synctest.Wait()
			f.mu.Lock()
			require.Equal(t, []string{"default bank/Pay/2"}, f.started)
			f.unstartable = nil
			f.mu.Unlock()
			f.crash()
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"default bank/Pay/2", "default bank/Pay/1"}, f.started)
			left, err := f.store.Inbox(t.Context(), journal.Receiver{ID: refTo("a").ID()}, 0)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	})
}

// TestStartsDoNotBlockTheInbox: more workflows than a page has wait to be started, and the host
// refuses them. Messages behind them are performed all the same, and the workflows are started later.
func TestStartsDoNotBlockTheInbox(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.startError = abi.Errorf(abi.CodeOverloaded, "full")
			var starts []abi.Call
			for n := range 2*call.MaxBatch + 1 {
				starts = append(starts, abi.Call{Workflow: "Pay", Key: strconv.Itoa(n)})
			}
			_, err := f.x.Caller.Call(t.Context(), sends("a", sendsInput{Started: starts}))
			require.NoError(t, err)
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			synctest.Wait()
			n, _ := f.stored("a")
			require.EqualValues(t, 2, n, "the message is performed")
			require.EqualValues(t, 3, f.value(f.x.Caller.Call(t.Context(), add("a", 1))), "so are calls behind it")
			f.mu.Lock()
			f.startError = nil
			f.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Len(t, f.started, len(starts))
		})
	})
}

// TestManyMessages are taken a page at a time, in order, in few commits.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold()
			first := f.goCall(t.Context(), add("a", 1))
			<-f.began
			const messages = 3*call.MaxBatch + 7
			for range messages {
				require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			}
			f.commits.taken()
			last := f.goCall(t.Context(), operation("a", "get"))
			f.release()
			<-first
			r := <-last
			require.EqualValues(t, messages+1, f.value(r.outcome, r.err), "the call comes behind what was sent before")
			require.LessOrEqual(t, len(f.commits.taken()), 5)
			synctest.Wait()
			left, err := f.store.Inbox(t.Context(), journal.Receiver{ID: refTo("a").ID()}, 0)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	})
}

// TestCallBehindAMessageThatIsTriedAgain comes behind it all the same.
func TestCallBehindAMessageThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.commits.script("", "fail")
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 5)))
			synctest.Wait()
			require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
		})
	})
}

// TestCallsBeforeRecovery come behind the messages that a host left behind.
func TestCallsBeforeRecovery(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.commits.script("", "fail", "fail", "fail", "fail", "fail", "fail") // the message stays in the inbox
			require.NoError(t, f.x.Sender.Send(t.Context(), by(add("a", 5), origin(1))))
			synctest.Wait()
			f.unrecovered = true
			f.crash()
			require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
			require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), by(add("a", 5), origin(1)))))
		})
	})
}

// TestCallsAroundRecovery come behind the messages left by an earlier host, also if their entity
// comes into memory when the recovery has ended: all that it knows is in its box by then.
func TestCallsAroundRecovery(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, callFirst := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, kind)
				f.commits.script("", "fail", "fail", "fail", "fail", "fail", "fail") // the message stays in the inbox
				require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 5)))
				synctest.Wait()
				f.unrecovered = true
				f.crash()
				f.x.atWork.Shut()
				if !callFirst {
					f.x.Recover(t.Context())
				}
				sum := make(chan int64, 1)
				go func() { sum <- f.value(f.x.Caller.Call(t.Context(), add("a", 1))) }()
				synctest.Wait()
				if callFirst {
					f.x.Recover(t.Context())
				}
				f.x.atWork.Open()
				require.EqualValues(t, 6, <-sum)
			})
		}
	})
}

// TestDamagedMessage is parked and does not stand in the way of others.
func TestDamagedMessage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.fill(refTo("a").ID(), journal.Message{
				Envelope: journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: origin(9), Bytes: 1},
				Value:    []byte{0xc1},
			})
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 5)))
			require.NoError(t, f.x.Sender.Send(t.Context(), operation("a", "crash")))
			require.NoError(t, f.x.Sender.Send(t.Context(), operation("a", "fail")))
			require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
			left, err := f.store.Inbox(t.Context(), journal.Receiver{ID: refTo("a").ID()}, 0)
			require.NoError(t, err)
			require.Empty(t, left)
			found, err := f.x.Parked.List(t.Context(), journal.ParkedFilter{})
			require.NoError(t, err)
			require.Len(t, found, 2)
			require.Equal(t, origin(9), found[0].Message.Origin, "it does not say whose it is")
			require.Equal(t, refTo("a").ID(), found[0].Entity)
			require.Equal(t, "crash", found[1].Message.Name)
		})
	})
}

// TestDamagedMessageOfAnEntityWithoutARow is listed and dropped by the name of its entity, and counts as one of its
// parked messages: nothing says in the store whose it is.
func TestDamagedMessageOfAnEntityWithoutARow(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			damage := func(n byte) {
				e := journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: origin(n), Bytes: 1}
				f.fill(refTo("a").ID(), journal.Message{Envelope: e, Value: []byte{0xc1}})
			}
			damage(9)
			f.x.actors.Post(refTo("a").ID(), mail{})
			synctest.Wait()
			found := f.parkedIn("a")
			require.Len(t, found, 1)
			require.Empty(t, found[0].Type)
			n, err := f.x.Parked.Retry(t.Context(), refTo("a"), []uint64{found[0].Position})
			require.NoError(t, err)
			require.Equal(t, 1, n)
			synctest.Wait()
			require.Len(t, f.parkedIn("a"), 1, "it is as damaged as before")
			n, err = f.x.Parked.Drop(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Empty(t, f.parkedIn("a"))
			_, err = f.x.Caller.Call(t.Context(), operation("a", "get"))
			require.NoError(t, err)
			damage(8)
			f.x.actors.Post(refTo("a").ID(), mail{})
			synctest.Wait()
			require.Equal(t, "bank/Counter", f.parkedIn("a")[0].Type, "a call has said whose it is")
		})
	})
}

// TestFullInboxOfAReceiver: an operation of a batch that sends to an entity whose inbox is full
// fails alone, and may be repeated. A sent one is parked.
func TestFullInboxOfAReceiver(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		sends := func(to string) call.Request {
			r := operation("a", "sends")
			r.Input = abi.MustMarshal(&sendsInput{
				Sent: []abi.EntityMessage{{Entity: "Counter/" + to, Operation: "add", Input: abi.MustMarshal(1)}},
			})
			return r
		}
		f.commits.mu.Lock()
		f.commits.full = refTo("full").ID()
		f.commits.mu.Unlock()
		f.hold()
		first := f.goCall(ctx, add("a", 1))
		<-f.began
		var others []<-chan result
		for range 3 {
			others = append(others, f.goCall(ctx, add("a", 1)), f.goCall(ctx, sends("b")))
		}
		refused := f.goCall(ctx, by(sends("full"), origin(7)))
		f.queuedCalls("a", 7)
		require.NoError(t, f.x.Sender.Send(ctx, sends("full")))
		f.release()
		<-first
		require.Equal(t, abi.CodeMailboxFull, abi.CodeOf((<-refused).err))
		for _, other := range others {
			got := <-other
			require.NoError(t, got.err)
			require.Nil(t, got.outcome.Error)
		}
		require.Eventually(t, func() bool {
			envelopes, err := f.store.Inbox(ctx, journal.Receiver{ID: refTo("a").ID()}, 0)
			return err == nil && len(envelopes) == 0
		}, testTimeout, testTick, "a message that cannot be performed holds up nothing")
		require.Equal(t, []string{"sends CR-6004"}, f.parked("a"))
		f.commits.mu.Lock() // not before: the message would be performed after all
		f.commits.full = journal.ID{}
		f.commits.mu.Unlock()
		_, err := f.x.Caller.Call(ctx, by(sends("full"), origin(7)))
		require.NoError(t, err, "it may be repeated")
		n, _ := f.stored("a")
		require.EqualValues(t, 8, n)
		_, err = f.x.Parked.Retry(ctx, refTo("a"), nil)
		require.NoError(t, err)
		require.Eventually(t, func() bool { n, _ := f.stored("a"); return n == 9 }, testTimeout, testTick)
		require.Empty(t, f.parked("a"))
	})
}

// TestLostMail: an entity that was not told of a message looks by itself.
func TestLostMail(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go f.x.ScanInboxes(ctx)
			m := call.Posted(
				journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: origin(1)}, journal.Caller{},
				call.Parcel{Entity: refTo("a").String(), Input: abi.MustMarshal(5), Namespace: "default"},
			)
			f.fill(refTo("a").ID(), m)
			time.Sleep(scanEvery + time.Second)
			synctest.Wait()
			n, _ := f.stored("a")
			require.EqualValues(t, 5, n)
		})
	})
}
