package wasm_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestSpinningGuestsDoNotStopOthers lets more guests spin than there are processors. Others must finish meanwhile, and
// so must the garbage collector, which waits for every goroutine to reach a safe point.
func TestSpinningGuestsDoNotStopOthers(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	m := compile(t, r, probeBinary)
	// Recursion without a loop is the case that the engine alone could not stop.
	recursing := compile(t, r, wasmtest.Forking())

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	spinners := runtime.GOMAXPROCS(0) + 1
	spinning, ends := make(chan struct{}, spinners), make(chan error, spinners)
	world := wasm.World{Log: func(int32, []byte) { spinning <- struct{}{} }}
	for n := range spinners {
		i := instantiate(t, m, world)
		if n%2 == 1 {
			i = instantiate(t, recursing, world)
		}
		go func() {
			_, err := i.Start(ctx, []byte("spin"))
			ends <- err
		}()
	}
	for range spinners {
		<-spinning
	}
	for n := range 3 {
		turn, err := instantiate(t, m, wasm.World{}).Start(ctx, fmt.Appendf(nil, "echo %d", n))
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(n), string(turn.Output))
		runtime.GC()
	}
	cancel()
	for range spinners {
		requireTrap(t, <-ends, abi.CodeGuestTimeout)
	}
}

// TestHammer runs many instances at a time: some trap, some are stopped and some have their module
// forgotten under them.
func TestHammer(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	for w := range 8 {
		t.Run(strconv.Itoa(w), func(t *testing.T) {
			t.Parallel()
			for round := range 6 {
				hammer(t, r, w, (w+round)%4)
			}
		})
	}
}

func hammer(t *testing.T, r *wasm.Runtime, worker, blow int) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	m, err := r.Compile(ctx, probeBinary)
	require.NoError(t, err)
	i, err := m.Instantiate(ctx, fixedWorld(byte(worker)))
	if err != nil {
		// Another worker forgot the module since it was compiled.
		require.ErrorContains(t, err, "forgotten")
		return
	}
	defer i.Close()
	switch blow {
	case 0:
		_, err := i.Start(ctx, []byte("panic x"))
		requireTrap(t, err, abi.CodeGuestTrap)
	case 1:
		short, stop := context.WithTimeout(ctx, time.Millisecond)
		defer stop()
		_, err := i.Start(short, []byte("spin"))
		require.Error(t, err)
	case 2:
		r.Forget(m.Digest())
		fallthrough
	default:
		_, err := i.Start(ctx, []byte("park"))
		require.NoError(t, err)
		for n := range 10 {
			_, err := i.Resume(ctx, []byte(strconv.Itoa(n)))
			require.NoError(t, err)
		}
		turn, err := i.Resume(ctx, []byte("end"))
		require.NoError(t, err)
		require.Equal(t, "sum 45", string(turn.Output))
	}
}
