package entity

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

func TestOperationsChangeTheState(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), add("a", 5))))
		require.EqualValues(t, 7, f.value(f.x.Caller.Call(t.Context(), add("a", 2))))
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), add("b", 1))))
		n, there := f.stored("a")
		require.True(t, there)
		require.EqualValues(t, 7, n)
		require.EqualValues(t, 7, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		require.Equal(t, []string{"add", "add", "add", "get"}, f.invocations)
	})
}

// TestQueuedOperationsShareOneCommit has calls come while a commit is under way.
func TestQueuedOperationsShareOneCommit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		began := f.commits.hold()
		first := f.goCall(t.Context(), add("a", 1))
		<-began
		var others []<-chan result
		for range 100 {
			others = append(others, f.goCall(t.Context(), add("a", 1)))
		}
		f.queuedCalls("a", 100)
		for _, call := range append(others, first) {
			require.Empty(t, call, "answered before it is durable")
		}
		f.commits.release()
		<-first
		seen := map[int64]bool{}
		for _, call := range others {
			r := <-call
			seen[f.value(r.outcome, r.err)] = true
		}
		require.Len(t, seen, 100, "each has seen a state of its own")
		require.Len(t, f.commits.taken(), 2)
		require.Len(t, f.invocations, 2)
		n, _ := f.stored("a")
		require.EqualValues(t, 101, n)
	})
}

// TestOperationThatFails changes nothing, and its error is the outcome.
func TestOperationThatFails(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		o, err := f.x.Caller.Call(t.Context(), operation("a", "fail"))
		require.NoError(t, err)
		require.Equal(t, abi.CodeOperationFailed, o.Error.Code)
		require.Equal(t, "no", o.Error.Message)
		require.Empty(t, f.commits.taken(), "there was nothing to commit")
		_, there := f.stored("a")
		require.False(t, there)
	})
}

// TestOperationsThatNeverEndAreRunTwice: each time takes as long as an invocation may. They are
// found among others with one invocation for all, and one for each.
func TestOperationsThatNeverEndAreRunTwice(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.hold()
		first := f.goCall(t.Context(), add("a", 1))
		<-f.began
		var others, endless []<-chan result
		for i := range 40 {
			if i == 7 || i == 22 {
				endless = append(endless, f.goCall(t.Context(), by(operation("a", "spin"), origin(byte(i)))))
			} else {
				others = append(others, f.goCall(t.Context(), add("a", 1)))
			}
			f.queuedCalls("a", i+1)
		}
		f.release()
		<-first
		for _, call := range others {
			r := <-call
			f.value(r.outcome, r.err)
		}
		for _, call := range endless {
			r := <-call
			require.NoError(t, r.err)
			require.Equal(t, abi.CodeOperationCrashed, r.outcome.Error.Code)
		}
		n, _ := f.stored("a")
		require.EqualValues(t, 39, n)
		f.mu.Lock()
		defer f.mu.Unlock()
		long := slices.DeleteFunc(f.invocations, func(names string) bool { return !strings.Contains(names, "spin") })
		require.Len(t, long, 3)
		require.Equal(t, []string{"spin", "spin"}, long[1:])
	})
}

// TestOperationThatNeverEndsKeepsFewWaiting: the calls in front of it are durable and answered
// before it is run a second time.
func TestOperationThatNeverEndsKeepsFewWaiting(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold()
			first := f.goCall(t.Context(), add("a", 1))
			<-f.began
			var calls []<-chan result
			for i, req := range []call.Request{add("a", 2), operation("a", "spin"), add("a", 4)} {
				calls = append(calls, f.goCall(t.Context(), by(req, origin(byte(i+1)))))
				synctest.Wait()
			}
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 8)))
			synctest.Wait()
			f.mu.Lock()
			f.heldOnly = "spin"
			close(f.held)
			f.held = make(chan struct{})
			f.mu.Unlock()
			<-first
			r := <-calls[0]
			require.EqualValues(t, 3, f.value(r.outcome, r.err))
			synctest.Wait()
			require.True(t, f.invoked("spin"), "by itself")
			value, _ := f.stored("a")
			require.EqualValues(t, 3, value)
			require.Equal(t, 2, f.waits("a")+len(f.waitingMail("a")), "a call and a message wait behind it")
			f.release()
			r = <-calls[1]
			require.NoError(t, r.err)
			require.Equal(t, abi.CodeOperationCrashed, r.outcome.Error.Code)
			r = <-calls[2]
			require.EqualValues(t, 7, f.value(r.outcome, r.err))
			synctest.Wait()
			value, _ = f.stored("a")
			require.EqualValues(t, 15, value)
			require.Zero(t, f.waits("a"))
		})
	})
}

// TestOperationThatCrashesFailsAlone finds it among others.
func TestOperationThatCrashesFailsAlone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, poison := range []string{"crash", "large"} {
			f := newFixture(t, kind)
			f.hold()
			first := f.goCall(t.Context(), add("a", 1))
			<-f.began
			var others, bad []<-chan result
			for i := range 10 {
				if i == 3 || i == 8 {
					bad = append(bad, f.goCall(t.Context(), by(operation("a", poison), origin(byte(i)))))
				} else {
					others = append(others, f.goCall(t.Context(), add("a", 1)))
				}
				f.queuedCalls("a", i+1)
			}
			f.release()
			<-first
			for _, call := range others {
				r := <-call
				f.value(r.outcome, r.err)
			}
			for _, call := range bad {
				r := <-call
				require.NoError(t, r.err)
				want := map[string]abi.Code{"crash": abi.CodeOperationCrashed, "large": abi.CodePayloadTooLarge}
				require.Equal(t, want[poison], r.outcome.Error.Code)
			}
			n, _ := f.stored("a")
			require.EqualValues(t, 9, n)
			require.Len(t, f.commits.taken(), 2, "one for the first, one for the ten")
			o, err := f.x.Caller.Call(t.Context(), by(operation("a", poison), origin(3)))
			require.NoError(t, err)
			require.Error(t, o.Error, "the receipt has the error")
			f.mu.Lock()
			require.Equal(t, []string{"an operation crashed", "an operation crashed"}, f.logged, "once each")
			f.mu.Unlock()
		}
	})
}

// TestOperationThatDestroys deletes the row; the next operation makes another entity.
func TestOperationThatDestroys(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), add("a", 5)))
		_, err := f.x.Caller.Call(t.Context(), operation("a", "destroy"))
		require.NoError(t, err)
		_, there := f.stored("a")
		require.False(t, there)
		require.EqualValues(t, 2, f.value(f.x.Caller.Call(t.Context(), add("a", 2))))

		require.NoError(t, f.x.Caller.Destroy(t.Context(), refTo("a"), origin(1)))
		_, there = f.stored("a")
		require.False(t, there)
		require.NoError(t, f.x.Caller.Destroy(t.Context(), refTo("a"), origin(1)), "the same request")
		err = f.x.Caller.Destroy(t.Context(), refTo("a"), origin(2))
		require.Equal(t, abi.CodeEntityNotFound, abi.CodeOf(err))
		_, err = f.x.Rows.State(t.Context(), refTo("a"))
		require.Equal(t, abi.CodeEntityNotFound, abi.CodeOf(err))
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
	})
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.types["Elsewhere"] = &abi.EntityInfo{
			Name: "Elsewhere", ShardGroup: "blue", Operations: []abi.OperationInfo{{Name: "x"}},
		}
		f.types["Counter"].Operations[0].Input = &abi.Schema{Type: abi.TypeInt}
		for name, c := range map[string]struct {
			request call.Request
			code    abi.Code
		}{
			"unknown type": {
				call.Request{
					Entity: target.Ref{Namespace: "default", Type: "bank/Nothing", Key: "a"}, Operation: "add",
				},
				abi.CodeUnknownEntity,
			},
			"unknown operation": {operation("a", "subtract"), abi.CodeUnknownOperation},
			"wrong input": {
				call.Request{Entity: refTo("a"), Operation: "add", Input: abi.MustMarshal("one")},
				abi.CodeOperationInput,
			},
			"no host": {
				call.Request{
					Entity: target.Ref{Namespace: "default", Type: "bank/Elsewhere", Key: "a"}, Operation: "x",
				},
				abi.CodeNoShardGroup,
			},
		} {
			_, err := f.x.Caller.Call(t.Context(), c.request)
			require.Equal(t, c.code, abi.CodeOf(err), name)
			require.Equal(t, c.code, abi.CodeOf(f.x.Sender.Send(t.Context(), c.request)), name)
		}
		require.Zero(t, f.x.Count())
		require.Empty(t, f.commits.taken())
	})
}

// TestNewerState is refused, and works again with the newer code; older ones are the code's
// business.
func TestNewerState(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		version := func(n uint32) {
			f.mu.Lock()
			defer f.mu.Unlock()
			e := counterType()
			e.StateVersion = n
			f.types["Counter"] = e
		}
		version(2)
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		version(1)
		for _, req := range []call.Request{add("a", 1), operation("a", "get")} {
			_, err := f.x.Caller.Call(t.Context(), req)
			require.Equal(t, abi.CodeStateVersion, abi.CodeOf(err))
		}
		require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)), "it waits for the newer code")
		version(3)
		require.EqualValues(t, 3, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
		row, err := f.x.Rows.State(t.Context(), refTo("a"))
		require.NoError(t, err)
		require.EqualValues(t, 3, row.Version)
	})
}

// TestHostFault costs the batch its answer, and the next one works.
func TestHostFault(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		f.panicAt = "entity.before-commit"
		_, err := f.x.Caller.Call(t.Context(), add("a", 1))
		require.Equal(t, abi.CodeInternal, abi.CodeOf(err))
		require.EqualValues(t, 2, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
		f.panicAt = "entity.after-commit"
		_, err = f.x.Caller.Call(t.Context(), by(add("a", 1), origin(1)))
		require.Equal(t, abi.CodeInternal, abi.CodeOf(err))
		require.EqualValues(t, 3, f.value(f.x.Caller.Call(t.Context(), by(add("a", 1), origin(1)))), "it took effect")
		require.EqualValues(t, 4, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
	})
}

// TestHostFaultInTheActor costs the request of the message, and the entity goes on.
func TestHostFaultInTheActor(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		reply := make(chan bool, 1)
		f.x.actors.Post(refTo("a").ID(), withdrawal{reply: reply}) // of no call: it panics
		require.True(t, <-reply)
		require.EqualValues(t, 3, f.value(f.x.Caller.Call(t.Context(), add("a", 2))))
		require.EqualValues(t, 3, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		for _, key := range []string{"b", "a", "c"} {
			f.value(f.x.Caller.Call(t.Context(), add(key, 1)))
		}
		found, err := f.x.Rows.List(
			t.Context(), journal.EntityFilter{Namespace: "default", Type: "bank/Counter", Limit: 2},
		)
		require.NoError(t, err)
		require.Len(t, found, 2)
		require.Equal(t, "a", found[0].Key)
		found, err = f.x.Rows.List(
			t.Context(), journal.EntityFilter{Namespace: "default", Type: "bank/", After: &found[1]},
		)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, "c", found[0].Key)
	})
}
