package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

func TestStartParkResume(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	i := newProbe(t, wasm.World{})
	require.Positive(t, i.MemoryBytes())

	_, err := i.Resume(ctx, []byte("1"))
	require.ErrorContains(t, err, "not ready")

	turn, err := i.Start(ctx, []byte("park"))
	require.NoError(t, err)
	require.Equal(t, wasm.Turn{Parked: true}, turn)

	_, err = i.Start(ctx, []byte("park"))
	require.ErrorContains(t, err, "not ready")

	for _, n := range []string{"1", "20", "300"} {
		turn, err = i.Resume(ctx, []byte(n))
		require.NoError(t, err)
		require.True(t, turn.Parked)
	}
	turn, err = i.Resume(ctx, []byte("end"))
	require.NoError(t, err)
	require.Equal(t, wasm.Turn{Output: []byte("sum 321")}, turn)

	_, err = i.Resume(ctx, []byte("1"))
	require.ErrorContains(t, err, "not ready")
	require.NoError(t, i.Close())
	require.NoError(t, i.Close())
	require.Zero(t, i.MemoryBytes())
	_, err = i.Start(ctx, nil)
	require.ErrorContains(t, err, "closed")
}

func TestInputTooLarge(t *testing.T) {
	t.Parallel()
	i := newProbe(t, wasm.World{})
	_, err := i.Start(context.Background(), make([]byte, abi.MaxBody+1))
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(err))

	// The instance was not touched.
	turn, err := i.Start(context.Background(), []byte("full"))
	require.NoError(t, err)
	require.Len(t, turn.Output, abi.MaxBody)
}

// TestInputIsTaken: the caller that hands a guest its input is told when the guest has it, and before the guest goes
// on.
func TestInputIsTaken(t *testing.T) {
	t.Parallel()
	var happened []string
	i := newProbe(t, wasm.World{Log: func(_ int32, message []byte) { happened = append(happened, string(message)) }})
	ctx := wasm.WithTaken(context.Background(), func() { happened = append(happened, "taken") })
	_, err := i.Start(ctx, []byte("log"))
	require.NoError(t, err)
	require.Greater(t, len(happened), 1)
	require.Equal(t, "taken", happened[0])
}
