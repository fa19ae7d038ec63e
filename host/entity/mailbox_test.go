package entity

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// TestMailboxFull refuses the call that comes too much, and takes calls again later.
func TestMailboxFull(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.types["Counter"].Mailbox = 3
		f.hold()
		calls := []<-chan result{f.goCall(t.Context(), add("a", 1))}
		<-f.began
		for i := range 3 {
			calls = append(calls, f.goCall(t.Context(), add("a", 1)))
			f.queuedCalls("a", i+1)
		}
		_, err := f.x.Caller.Call(t.Context(), add("a", 1))
		require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(err))
		require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)), "a message waits in the inbox")
		f.release()
		for _, call := range calls {
			r := <-call
			require.NoError(t, r.err)
		}
		require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
	})
}

// TestInboxFull refuses a message, and says so.
func TestInboxFull(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.hold()
		first := f.goCall(t.Context(), add("a", 1))
		<-f.began
		for i := range 8 {
			value := make([]byte, journal.MaxInboxBytes/8)
			f.fill(refTo("a").ID(), journal.Message{
				Envelope: journal.Envelope{
					Kind: journal.CallMessage, Name: "add", Origin: origin(byte(i)), Bytes: len(value),
				},
				Value: value,
			})
		}
		err := f.x.Sender.Send(t.Context(), add("a", 1))
		require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(err))
		f.release()
		<-first
	})
}

// TestDeadline tells whether the call was accepted.
func TestDeadline(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.hold()
		atWork, stopAtWork := context.WithCancel(t.Context())
		first := f.goCall(atWork, by(add("a", 1), origin(1)))
		<-f.began
		waits, stopWaiting := context.WithCancel(t.Context())
		second := f.goCall(waits, by(add("a", 10), origin(2)))
		f.queuedCalls("a", 1)
		stopWaiting()
		r := <-second
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(r.err))
		require.ErrorContains(t, r.err, "not accepted")
		f.queuedCalls("a", 0)
		stopAtWork()
		r = <-first
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(r.err))
		require.ErrorContains(t, r.err, "was accepted")
		_, err := f.x.Caller.Call(waits, add("a", 100))
		require.ErrorContains(t, err, "not accepted")
		require.ErrorContains(t, f.x.Sender.Send(waits, add("a", 100)), "not accepted")
		f.release()
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), by(add("a", 1), origin(1)))))
		require.EqualValues(t, 11, f.value(f.x.Caller.Call(t.Context(), by(add("a", 10), origin(2)))))
	})
}

// TestDeadlineOfOneOfTwo leaves the call to the other.
func TestDeadlineOfOneOfTwo(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.hold()
		first := f.goCall(t.Context(), add("a", 1))
		<-f.began
		one, stop := context.WithCancel(t.Context())
		leaves := f.goCall(one, by(add("a", 10), origin(1)))
		f.queuedCalls("a", 1)
		stays := f.goCall(t.Context(), by(add("a", 10), origin(1)))
		f.settle()
		stop()
		r := <-leaves
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(r.err))
		f.release()
		<-first
		r = <-stays
		require.EqualValues(t, 11, f.value(r.outcome, r.err))
	})
}

// TestIdleEntityIsForgotten costs nothing, and is there again when it is called.
func TestIdleEntityIsForgotten(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.types["Counter"].IdleTime = int64(10 * time.Second)
			f.value(f.x.Caller.Call(t.Context(), add("a", 5)))
			time.Sleep(5 * time.Second)
			f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
			time.Sleep(9 * time.Second)
			synctest.Wait()
			require.True(t, f.x.InMemory(refTo("a")))
			require.Positive(t, f.queued.Used())
			time.Sleep(2 * time.Second)
			synctest.Wait()
			require.False(t, f.x.InMemory(refTo("a")))
			require.Zero(t, f.x.Count())
			require.Zero(t, f.queued.Used())
			require.EqualValues(t, 7, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
		})
	})
}

// TestNoMemory refuses a call, and does without the state in memory.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		all, ok := f.queued.TryAcquire(f.queued.Total() - call.Cost - 10)
		require.True(t, ok)
		f.value(f.x.Caller.Call(t.Context(), add("a", 5)))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		require.True(t, all.Grow(100))
		_, err := f.x.Caller.Call(t.Context(), add("a", 5))
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
		all.Release()
		require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
	})
}
