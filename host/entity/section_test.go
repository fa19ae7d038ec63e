package entity

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// TestHolderNeedsNoRoom: calls that wait for the end of a section may have taken all the memory
// there is for calls. Those of the section itself go on.
func TestHolderNeedsNoRoom(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		w := f.newWorkflow("w")
		w.lock("a")
		all := f.queued.Empty()
		for step := int64(1 << 40); step > 0; {
			if !all.Grow(step) {
				step /= 2
			}
		}
		_, err := f.x.Caller.Call(ctx, add("a", 1))
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 5)))))
		all.Release()
	})
}

// TestMessageSentBeforeTheLockIsRepeated: its sender did not hear that it was received, and its
// section has locked the receiver since. It is performed behind the section, as the sender is
// told.
func TestMessageSentBeforeTheLockIsRepeated(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		w := f.newWorkflow("w")
		req := w.asks(add("a", 1))
		require.NoError(t, f.x.Sender.Send(ctx, req))
		w.lock("a")
		require.NoError(t, f.x.Sender.Send(ctx, req))
		require.Equal(t, abi.CodeInSection, abi.CodeOf(f.x.Sender.Send(ctx, w.asks(add("a", 1)))))
		w.end()
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(ctx, operation("a", "get"))))
	})
}

// TestOperatorUnlocksNoOther: the section that the operator saw has ended when the lock is to be
// taken away, and the entity is held by another.
func TestOperatorUnlocksNoOther(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		first, second := f.newWorkflow("first"), f.newWorkflow("second")
		second.lock("a")
		c := &call.Call{
			Ref:         refTo("a"),
			Kind:        call.Unlock,
			Operation:   "unlock",
			From:        first.step,
			Mailbox:     call.DefaultMailbox,
			Concurrency: call.DefaultConcurrency,
		}
		_, err := f.x.Caller.Ask(context.Background(), c)
		require.NoError(t, err)
		row, err := f.store.Lock(context.Background(), refTo("a").ID())
		require.NoError(t, err)
		require.Equal(t, second.step, row.Holder)
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(context.Background(), second.asks(add("a", 1)))))
		require.NotEqual(t, journal.Caller{}, row.Holder)
	})
}
