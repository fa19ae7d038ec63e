package entity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// TestCodeThatCannotReadTheState fails no operation for good: other code could.
func TestCodeThatCannotReadTheState(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ref := refTo("a")
		write := func(state any) {
			row := &journal.Entity{
				ID: ref.ID(), Namespace: ref.Namespace, Type: ref.Type, Key: ref.Key, State: abi.MustMarshal(state),
			}
			_, err := f.commits.applyLocked(journal.Write{ID: ref.ID(), Entity: row})
			require.NoError(t, err)
		}
		write("not a number")
		for _, req := range []call.Request{by(add("a", 1), origin(1)), operation("a", "get")} {
			_, err := f.x.Caller.Call(t.Context(), req)
			require.ErrorContains(t, err, "does not decode")
		}
		_, err := f.store.Receipt(t.Context(), ref.ID(), origin(1))
		require.ErrorIs(t, err, journal.ErrNotFound)
		f.end()
		write(5)
		f.boot()
		require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), by(add("a", 1), origin(1)))))
	})
}

// TestNothingStaysInMemory changes no result.
func TestNothingStaysInMemory(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.x.workers.evictAlways = true
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), by(add("a", 5), origin(1)))))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), by(add("a", 5), origin(1)))))
		require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 2)))
		require.EqualValues(t, 8, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
		require.Eventually(t, func() bool { return f.x.Count() == 0 && f.queued.Used() == 0 }, testTimeout, testTick)
	})
}

// TestHotEntity does not keep another waiting for more than a batch.
func TestHotEntity(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		stop, done := make(chan struct{}), make(chan struct{})
		for range 8 {
			go func() {
				defer func() { done <- struct{}{} }()
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = f.x.Caller.Call(t.Context(), add("a", 1))
					}
				}
			}()
		}
		for i := range 100 {
			require.EqualValues(t, i+1, f.value(f.x.Caller.Call(t.Context(), add("b", 1))))
		}
		close(stop)
		for range 8 {
			<-done
		}
	})
}
