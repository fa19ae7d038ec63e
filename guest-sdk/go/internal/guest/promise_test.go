package guest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFirstSettlementStands(t *testing.T) {
	t.Parallel()
	settled := 0
	p := &Promise{what: Label{"op", ""}, onSettle: func() { settled++ }}
	require.False(t, p.Settled())
	p.settle([]byte{1}, nil, nil)
	p.settle(nil, nil, ErrCanceled)
	raw, value, err := p.Result()
	require.Equal(t, []byte{1}, raw)
	require.Nil(t, value)
	require.NoError(t, err)
	require.Equal(t, 1, settled)

	p.KeepDecoded(7)
	raw, value, _ = p.Result()
	require.Nil(t, raw)
	require.Equal(t, 7, value)
}

func TestWaitersWakeInTheOrderOfTheirWaits(t *testing.T) {
	t.Parallel()
	ex := &Execution{}
	first, second := &Coroutine{ex: ex, id: 1}, &Coroutine{ex: ex, id: 2}
	slow, fast := &Promise{ex: ex}, &Promise{ex: ex}
	both := &waiter{co: first, promises: []*Promise{slow, fast}}
	one := &waiter{co: second, promises: []*Promise{fast}}
	slow.waiters, fast.waiters = []*waiter{both}, []*waiter{both, one}
	fast.settle(nil, nil, nil)
	slow.settle(nil, nil, nil)
	require.Equal(t, []*Coroutine{first, second}, ex.ready.all, "each coroutine is woken once")
	require.Equal(t, 1, both.index, "the promise that was settled first")
}

func TestAbandonCancelsOnlyPendingOps(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	ex := &Execution{host: host}
	pending := &Promise{ex: ex, op: 3}
	ex.ops.add(pending)
	pending.abandon(ErrCanceled)
	pending.abandon(ErrInterrupted)
	_, _, err := pending.Result()
	require.ErrorIs(t, err, ErrCanceled)
	require.Nil(t, ex.ops.take(3))

	coroutine := &Promise{ex: ex}
	coroutine.abandon(ErrCanceled)
	require.False(t, coroutine.Settled(), "a coroutine cannot be abandoned")
	require.Equal(t, []uint32{3}, host.cancelled)
}
