package entity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/journal"
)

// parked are the parked messages of a counter, each with the code of its reason.
func (f *fixture) parked(key string) (names []string) {
	f.t.Helper()
	found, err := f.store.Parked(context.Background(), journal.ParkedFilter{Entity: refTo(key).ID()})
	require.NoError(f.t, err)
	for i := range found {
		names = append(names, found[i].Message.Name+" "+string(found[i].Reason.Code))
	}
	return names
}

// waitingMail are the names of the messages in the inbox of a counter.
func (f *fixture) waitingMail(key string) (names []string) {
	f.t.Helper()
	envelopes, err := f.store.Inbox(context.Background(), journal.Receiver{ID: refTo(key).ID()}, 0)
	require.NoError(f.t, err)
	for i := range envelopes {
		names = append(names, envelopes[i].Name)
	}
	return names
}

// TestCrashingMessageIsParked: a message whose operation crashes, or does not end, is kept with its
// reason. Messages sent before and after it are performed, and an error that an operation returns
// is its outcome.
func TestCrashingMessageIsParked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold() // so that all of them are in one batch
			for i, req := range []call.Request{
				add("a", 1), operation("a", "crash"), add("a", 2), operation("a", "spin"), operation("a", "fail"),
				add("a", 4),
			} {
				require.NoError(t, f.x.Sender.Send(t.Context(), by(req, origin(byte(i+1)))))
			}
			f.release()
			synctest.Wait()
			require.EqualValues(t, 8, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
			require.Equal(t, []string{"crash CR-6007", "spin CR-6007"}, f.parked("a"))
			require.Empty(t, f.waitingMail("a"))
			receipt, err := f.store.Receipt(t.Context(), refTo("a").ID(), origin(5))
			require.NoError(t, err)
			require.Equal(t, abi.CodeOperationFailed, receipt.Error.Code)
			_, err = f.store.Receipt(t.Context(), refTo("a").ID(), origin(2))
			require.ErrorIs(t, err, journal.ErrNotFound, "it has no outcome")
		})
	})
}

// TestRefusedStartIsParked: a workflow that cannot be started is kept, and the others are started.
func TestRefusedStartIsParked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.unstartable = map[string]error{"1": abi.Errorf(abi.CodeUnknownWorkflow, "it is gone")}
			_, err := f.x.Caller.Call(
				t.Context(),
				sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: "1"}, {Workflow: "Pay", Key: "2"}}}),
			)
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, []string{"default bank/Pay/2"}, f.started)
			require.Equal(t, []string{"Pay CR-2001"}, f.parked("a"))
			require.Empty(t, f.waitingMail("a"))
		})
	})
}

// sendParked sends messages that are parked, and returns their positions.
func (f *fixture) sendParked(key string, origins ...journal.Origin) (positions []uint64) {
	f.t.Helper()
	for _, o := range origins {
		require.NoError(f.t, f.x.Sender.Send(context.Background(), by(operation(key, "crash"), o)))
	}
	require.Eventually(f.t, func() bool {
		found, err := f.x.Parked.List(context.Background(), journal.ParkedFilter{Entity: refTo(key).ID()})
		require.NoError(f.t, err)
		positions = positions[:0]
		for i := range found {
			positions = append(positions, found[i].Position)
		}
		return len(found) == len(origins)
	}, testTimeout, testTick)
	return positions
}

// TestRetryAfterTheFix: a parked message that is retried is performed once, also if it is retried twice,
// after a restart, and beside a repetition of its sender. If the cause is still there it is parked again.
func TestRetryAfterTheFix(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			at := f.sendParked("a", origin(1), origin(2))
			n, err := f.x.Parked.Retry(t.Context(), refTo("a"), at[:1])
			require.NoError(t, err)
			require.Equal(t, 1, n)
			synctest.Wait()
			require.Equal(t, []string{"crash CR-6007", "crash CR-6007"}, f.parked("a"), "nothing was repaired")
			f.crash()
			f.repair()
			synctest.Wait()
			_, there := f.stored("a")
			require.False(t, there, "a host that starts does not retry by itself")
			n, err = f.x.Parked.Retry(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			require.Equal(t, 2, n)
			require.NoError(t, f.x.Sender.Send(t.Context(), by(operation("a", "crash"), origin(1))))
			synctest.Wait()
			value, _ := f.stored("a")
			require.EqualValues(t, 2, value)
			require.Empty(t, f.parked("a"))
			require.Empty(t, f.waitingMail("a"))
			_, err = f.x.Parked.Retry(t.Context(), refTo("a"), at[:1])
			require.Equal(t, abi.CodeNotParked, abi.CodeOf(err))
			n, err = f.x.Parked.Retry(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			require.Zero(t, n)
			require.EqualValues(
				t, 1, f.value(f.x.Caller.Call(t.Context(), by(operation("a", "crash"), origin(1)))),
				"its outcome is that of the retry",
			)
		})
	})
}

// TestRetriedMessageComesFirst: it keeps its place before messages that were sent behind it and wait still.
func TestRetriedMessageComesFirst(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			at := f.sendParked("a", origin(1))
			f.repair()
			f.hold()
			first := f.goCall(t.Context(), add("a", 1))
			<-f.began
			require.NoError(t, f.x.Sender.Send(t.Context(), operation("a", "fail")))
			_, err := f.x.Parked.Retry(t.Context(), refTo("a"), at)
			require.NoError(t, err)
			synctest.Wait()
			f.release()
			require.NoError(t, (<-first).err)
			synctest.Wait()
			require.True(t, f.invoked("crash fail"), "%v", f.invocations)
		})
	})
}

// TestDroppedMessage is never performed: its sender is told so if it repeats it.
func TestDroppedMessage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			at := f.sendParked("a", origin(1), origin(2))
			require.NoError(
				t, f.x.Sender.Send(t.Context(), by(operation("a", "crash"), origin(1))),
				"while it is parked it is accepted",
			)
			n, err := f.x.Parked.Drop(t.Context(), refTo("a"), at[:1])
			require.NoError(t, err)
			require.Equal(t, 1, n)
			_, err = f.x.Parked.Drop(t.Context(), refTo("a"), at[:1])
			require.Equal(t, abi.CodeNotParked, abi.CodeOf(err))
			f.repair()
			f.crash()
			err = f.x.Sender.Send(t.Context(), by(operation("a", "crash"), origin(1)))
			require.Equal(t, abi.CodeDropped, abi.CodeOf(err))
			require.ErrorContains(t, err, "index out of range")
			o, err := f.x.Caller.Call(t.Context(), by(operation("a", "crash"), origin(1)))
			require.NoError(t, err)
			require.Equal(t, abi.CodeDropped, o.Error.Code)
			n, err = f.x.Parked.Drop(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			synctest.Wait()
			_, there := f.stored("a")
			require.False(t, there)
			require.Empty(t, f.parked("a"))
		})
	})
}

// TestParkedSurvivesEachCrash ends the host on both sides of each commit in the life of a parked message:
// it is parked, retried or dropped, and performed at most once.
func TestParkedSurvivesEachCrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"entity.before-commit", "entity.after-commit", "entity.receive.before", "entity.receive.after",
	} {
		for _, phase := range []string{"park", "park start", "retry", "drop"} {
			t.Run(point+" "+phase, func(t *testing.T) {
				t.Parallel()
				eachStore(t, func(t *testing.T, kind string) {
					synctest.Test(t, func(t *testing.T) { crashAround(t, kind, point, phase) })
				})
			})
		}
	}
}

// crashAround has a host end at a point while a message is parked, retried or dropped. The operator
// repeats unanswered requests.
func crashAround(t *testing.T, kind, point, phase string) {
	f := newFixture(t, kind)
	f.unstartable = map[string]error{"1": abi.Errorf(abi.CodeUnknownWorkflow, "gone")}
	send := func() error { return f.x.Sender.Send(t.Context(), by(operation("a", "crash"), origin(1))) }
	start := func() error {
		return f.x.Sender.Send(
			t.Context(), by(sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: "1"}}}), origin(2)),
		)
	}
	if phase != "park" {
		require.NoError(t, send())
	}
	synctest.Wait()
	die := make(chan struct{})
	f.crashAt(point, die)
	act := map[string]func() error{
		"park":       send,
		"park start": start,
		"retry": func() error {
			f.repair()
			_, err := f.x.Parked.Retry(t.Context(), refTo("a"), nil)
			return err
		},
		"drop": func() error { _, err := f.x.Parked.Drop(t.Context(), refTo("a"), nil); return err },
	}[phase]
	go func() { _ = act() }()
	synctest.Wait()
	crashed := false
	select {
	case <-die:
		crashed = true
	default:
	}
	require.Equal(
		t, phase != "drop" || !strings.HasPrefix(point, "entity.receive."), crashed,
		"a drop puts nothing into an inbox, all others do",
	)
	f.crashAt("", nil)
	f.crash()
	synctest.Wait()
	err := act()
	if phase == "retry" || phase == "drop" {
		require.NoError(t, err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	value, _ := f.stored("a")
	require.Empty(t, f.waitingMail("a"))
	switch phase {
	case "park":
		require.Equal(t, []string{"crash CR-6007"}, f.parked("a"))
	case "park start":
		require.EqualValues(t, 1, value)
		require.Equal(t, []string{"crash CR-6007", "Pay CR-2001"}, f.parked("a"))
	case "retry":
		require.EqualValues(t, 1, value)
		require.Empty(t, f.parked("a"))
	case "drop":
		require.Zero(t, value)
		require.Empty(t, f.parked("a"))
		require.Equal(t, abi.CodeDropped, abi.CodeOf(send()))
	}
}

// TestParkWhoseAnswerIsLost leaves one parked message, of an entity with a state and of one without.
func TestParkWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, mishap := range []string{"lose", "drop", "fail", "delay"} {
			synctest.Test(t, func(t *testing.T) {
				f, _ := newLedger(t, kind)
				for _, req := range []call.Request{
					by(operation("a", "crash"), origin(1)), operation("a", "crash"), by(gateway("crash"), origin(1)),
					gateway("crash"),
				} {
					f.commits.script("", mishap)
					require.NoError(t, f.x.Sender.Send(t.Context(), req))
					time.Sleep(time.Minute)
					synctest.Wait()
				}
				require.Equal(t, []string{"crash CR-6007", "crash CR-6007"}, f.parked("a"), mishap)
				found, err := f.x.Parked.List(t.Context(), journal.ParkedFilter{
					Namespace: "default", Type: "bank/Gateway",
				})
				require.NoError(t, err)
				require.Len(t, found, 2, mishap)
				require.Zero(t, f.inbox(), mishap)
			})
		}
	})
}

// TestMessagesWithoutCode wait for a while for code that is missing or cannot read the state, then they
// are parked, and performed in their order once they are retried. Trouble that passes parks nothing.
func TestMessagesWithoutCode(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold()
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			require.NoError(t, f.x.Sender.Send(t.Context(), operation("a", "crash")))
			synctest.Wait()
			f.mu.Lock()
			counter := f.types["Counter"]
			delete(f.types, "Counter")
			f.mu.Unlock()
			f.crash()
			time.Sleep(time.Second)
			synctest.Wait()
			require.Empty(t, f.parked("a"))
			require.Len(t, f.waitingMail("a"), 2, "it may be there again in a moment")
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"add CR-6001", "crash CR-6001"}, f.parked("a"))
			found, err := f.x.Parked.List(t.Context(), journal.ParkedFilter{})
			require.NoError(t, err)
			require.Equal(t, parked.MaxAttempts, found[0].Attempts)
			require.Empty(t, f.waitingMail("a"))
			f.mu.Lock()
			f.types["Counter"] = counter
			f.repaired = true
			f.mu.Unlock()
			_, err = f.x.Parked.Retry(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			synctest.Wait()
			require.True(t, f.invoked("add crash"), "%v", f.invocations)
			value, _ := f.stored("a")
			require.EqualValues(t, 2, value)
		})
	})
}

// TestPassingTroubleParksNothing: a store that fails for long is no reason of a message.
func TestPassingTroubleParksNothing(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			script := []string{""}
			for range 3 * parked.MaxAttempts {
				script = append(script, "fail")
			}
			f.commits.script(script...)
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Empty(t, f.parked("a"))
			value, _ := f.stored("a")
			require.EqualValues(t, 1, value)
		})
	})
}

// TestRefusedStartIsParkedAfterAWhile: a workflow whose module is damaged is tried for a while.
func TestRefusedStartIsParkedAfterAWhile(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.unstartable = map[string]error{"1": abi.Errorf(abi.CodeModuleNotFound, "the module is damaged")}
			_, err := f.x.Caller.Call(
				t.Context(), sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: "1"}}}),
			)
			require.NoError(t, err)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Empty(t, f.parked("a"))
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"Pay CR-1009"}, f.parked("a"))
			f.mu.Lock()
			f.unstartable = nil
			f.mu.Unlock()
			_, err = f.x.Parked.Retry(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, []string{"default bank/Pay/1"}, f.started)
		})
	})
}

// TestHostFaultParksAMessage that has it happen each time; until then it is tried again.
func TestHostFaultParksAMessage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, _ := newLedger(t, kind)
			f.stateless = func(instance.StatelessCall) (*instance.StatelessResult, error) { panic("a bug of the host") }
			require.NoError(t, f.x.Sender.Send(t.Context(), gateway("save")))
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			found, err := f.x.Parked.List(t.Context(), journal.ParkedFilter{})
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, abi.CodeInternal, found[0].Reason.Code)
		})
	})
}

// TestParkedMessageOfAnEntityWithoutAState: messages that crash are parked, calls whose callers wait are
// answered; a call of the same request as a parked message is told of it.
func TestParkedMessageOfAnEntityWithoutAState(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			require.NoError(t, f.x.Sender.Send(t.Context(), by(gateway("crash"), origin(1))))
			require.NoError(t, f.x.Sender.Send(t.Context(), by(gateway("fail"), origin(2))))
			require.NoError(t, f.x.Sender.Send(t.Context(), by(gateway("save"), origin(3))))
			synctest.Wait()
			found, err := f.x.Parked.List(t.Context(), journal.ParkedFilter{})
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, "crash", found[0].Message.Name)
			o, err := f.x.Caller.Call(t.Context(), by(gateway("crash"), origin(4)))
			require.NoError(t, err)
			require.Equal(t, abi.CodeOperationCrashed, o.Error.Code, "its caller is told")
			_, err = f.x.Caller.Call(t.Context(), by(gateway("crash"), origin(1)))
			require.Equal(t, abi.CodeParked, abi.CodeOf(err))
			f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
				call.Operation = "save"
				return l.run(call)
			}
			_, err = f.x.Parked.Retry(t.Context(), gateway("").Entity, nil)
			require.NoError(t, err)
			synctest.Wait()
			total, _ := l.counts()
			require.Equal(t, 2, total)
		})
	})
}

// TestCallBesideAParkedMessage: a caller that waits for a message of its own request is told that it is
// parked.
func TestCallBesideAParkedMessage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold()
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			<-f.began
			require.NoError(t, f.x.Sender.Send(t.Context(), by(operation("a", "crash"), origin(1))))
			synctest.Wait()
			call := f.goCall(t.Context(), by(operation("a", "crash"), origin(1)))
			synctest.Wait()
			f.release()
			require.Equal(t, abi.CodeParked, abi.CodeOf((<-call).err))
			require.Equal(t, []string{"crash CR-6007"}, f.parked("a"))
		})
	})
}

// TestTooManyParked: an entity with as many parked messages as it may have takes no more, and tells senders
// why. Calls go on.
func TestTooManyParked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			fill := journal.Write{ID: refTo("filler").ID()}
			for i := range journal.MaxParked {
				m := call.Posted(
					journal.Envelope{
						Kind: journal.CallMessage, Name: "crash", Origin: journal.OriginOfRequest(fmt.Sprint(i)),
					},
					journal.Caller{},
					call.Parcel{Entity: refTo("a").String(), Namespace: "default"},
				)
				fill.Send = append(fill.Send, journal.Sent{To: refTo("a").ID(), Message: m})
			}
			_, err := f.commits.Commit(fill)
			require.NoError(t, err)
			f.x.Recover(t.Context())
			synctest.Wait()
			require.Len(t, f.parkedIn("a"), journal.MaxParked)
			err = f.x.Sender.Send(t.Context(), add("a", 1))
			require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(err))
			require.ErrorContains(t, err, "1000 messages of bank/Counter/a are parked")
			require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
			_, err = f.x.Parked.Drop(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			synctest.Wait()
			value, _ := f.stored("a")
			require.EqualValues(t, 2, value)
		})
	})
}

// parkedIn are the parked messages of a counter.
func (f *fixture) parkedIn(key string) []journal.ParkedMessage {
	f.t.Helper()
	found, err := f.x.Parked.OfEntity(context.Background(), refTo(key), nil)
	require.NoError(f.t, err)
	return found
}

// TestUnparkInDoubt: a retry or a drop whose commit is in doubt is repeated until its fate is known, and the
// operator is told that. An operator who comes second is refused.
func TestUnparkInDoubt(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, script := range [][]string{{"lose"}, {"drop"}, {"lose", "lose"}, {"drop", "fail", "lose"}, {"delay"}} {
			for _, drop := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, kind)
					f.sendParked("a", origin(1))
					f.repair()
					unpark, value := f.x.Parked.Retry, 1
					if drop {
						unpark, value = f.x.Parked.Drop, 0
					}
					f.commits.script(script...)
					n, err := unpark(t.Context(), refTo("a"), nil)
					require.NoError(t, err, script)
					require.Equal(t, 1, n)
					time.Sleep(time.Minute)
					synctest.Wait()
					stored, _ := f.stored("a")
					require.EqualValues(t, value, stored, script)
					require.Empty(t, f.parked("a"))
				})
			}
		}
	})
}

// TestUnparkInDoubtBesideAnother: the answer to a drop is lost with the drop, and another operator has the message
// retried before the drop is repeated.
func TestUnparkInDoubtBesideAnother(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.sendParked("a", origin(1))
			f.repair()
			f.commits.script("drop", "drop")
			dropped := make(chan error, 1)
			go func() {
				_, err := f.x.Parked.Drop(t.Context(), refTo("a"), nil)
				dropped <- err
			}()
			synctest.Wait()
			_, err := f.x.Parked.Retry(t.Context(), refTo("a"), nil)
			require.NoError(t, err)
			require.Equal(t, abi.CodeNotParked, abi.CodeOf(<-dropped))
			synctest.Wait()
			value, _ := f.stored("a")
			require.EqualValues(t, 1, value)
		})
	})
}
