package wasm_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// quickClock is a clock on which each slice of fuel takes long: guests have computed for long
// after a few.
type quickClock struct {
	clockwork.Clock
	readings atomic.Int64
}

func (c *quickClock) Now() time.Time {
	return time.UnixMilli(0).Add(time.Duration(c.readings.Add(1)) * time.Millisecond)
}

// TestGuestsThatComputeLeaveACore: of guests that compute for long all but one fewer than there are processors wait,
// and each of them gets its turn. A guest that waits for the host blocks no other.
func TestGuestsThatComputeLeaveACore(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{Clock: &quickClock{Clock: clockwork.NewRealClock()}})
	places := max(1, runtime.GOMAXPROCS(0)-1)
	// It counts down from 500,000, calls the host, and so on for ever.
	rounds := wasmtest.Join(
		[]byte{0x03, 0x40},                          // loop
		wasmtest.I32Const(500_000), []byte{0x21, 0}, // local.set 0
		// loop: local.tee 0 (local.get 0 - 1), br_if
		[]byte{0x03, 0x40, 0x20, 0}, wasmtest.I32Const(1), []byte{0x6b, 0x22, 0, 0x0d, 0, 0x0b},
		wasmtest.I32Const(0), wasmtest.I32Const(0), wasmtest.Call(0), []byte{0x1a}, // drop
		[]byte{0x0c, 0, 0x0b}, wasmtest.Unreachable, // br; end
	)
	m := compile(t, r, wasmtest.Module{
		Pages: 1, Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportConfig, wasmtest.TypeOp)}, Start: rounds,
	}.Assemble())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := make(chan error, 100)
	start := func(call func(ctx context.Context)) {
		i := instantiate(t, m, wasm.World{Call: func(ctx context.Context, _ string, _ []byte) ([]byte, *abi.Error) {
			call(ctx)
			return nil, nil
		}})
		go func() {
			_, err := i.Start(ctx, nil)
			ends <- err
		}()
	}
	inHost := make(chan struct{}, places)
	for range places { // each has computed for long, and waits for the host
		start(func(ctx context.Context) {
			inHost <- struct{}{}
			<-ctx.Done()
		})
		<-inHost
	}
	require.Zero(t, r.Stats().Waiting)
	const more = 4
	var calls [more]chan struct{}
	for n := range calls {
		calls[n] = make(chan struct{})
		start(func(ctx context.Context) {
			select {
			case calls[n] <- struct{}{}:
			case <-ctx.Done():
			}
		})
	}
	for range 3 {
		for n := range calls { // each goes on, in whichever order
			<-calls[n]
		}
	}
	cancel()
	for range places + more {
		requireTrap(t, <-ends, abi.CodeGuestTimeout)
	}
	require.Zero(t, r.Stats().Waiting)
}

// TestPlacesOfGuestsThatSpin: the guests that spin beyond the places wait, and end with their call all the same.
func TestPlacesOfGuestsThatSpin(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{Clock: &quickClock{Clock: clockwork.NewRealClock()}})
	m := compile(t, r, wasmtest.Module{Start: wasmtest.Join(wasmtest.Endless, wasmtest.Unreachable)}.Assemble())
	places := max(1, runtime.GOMAXPROCS(0)-1)
	guests := places + 8
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := make(chan error, guests)
	for range guests {
		i := instantiate(t, m, wasm.World{})
		go func() {
			_, err := i.Start(ctx, nil)
			ends <- err
		}()
	}
	for r.Stats().Waiting < int64(guests-places) {
		runtime.Gosched()
	}
	cancel()
	for range guests {
		requireTrap(t, <-ends, abi.CodeGuestTimeout)
	}
	require.Zero(t, r.Stats().Waiting)
}
