package serve

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/addrtest"
)

type listened struct {
	listener net.Listener
	err      error
}

// listening starts to listen on an address that is taken, and returns once it waits to try again.
func listening(
	ctx context.Context, t *testing.T,
) (taken net.Listener, clock *clockwork.FakeClock, result chan listened) {
	t.Helper()
	taken, err := net.Listen("tcp", addrtest.Reserve(t)) // none has it when this one is closed
	require.NoError(t, err)
	clock, result = clockwork.NewFakeClock(), make(chan listened, 1)
	wait := newAddressWait(clock)
	go func() {
		l, err := wait.listen(ctx, "--grpc-addr", taken.Addr().String())
		result <- listened{l, err}
	}()
	require.NoError(t, clock.BlockUntilContext(t.Context(), 1))
	return taken, clock, result
}

// TestListenWaitsForTheFormerHost: a process that was killed holds its address until the kernel has
// taken it down.
func TestListenWaitsForTheFormerHost(t *testing.T) {
	t.Parallel()
	taken, clock, result := listening(t.Context(), t)
	require.NoError(t, taken.Close())
	clock.Advance(listenInterval)
	r := <-result
	require.NoError(t, r.err)
	require.Equal(t, taken.Addr(), r.listener.Addr())
	require.NoError(t, r.listener.Close())
}

func TestListenGivesUp(t *testing.T) {
	t.Parallel()
	taken, clock, result := listening(t.Context(), t)
	defer func() { require.NoError(t, taken.Close()) }()
	for range listenTimeout/listenInterval - 1 {
		clock.Advance(listenInterval)
		require.NoError(t, clock.BlockUntilContext(t.Context(), 1))
	}
	clock.Advance(listenInterval)
	r := <-result
	require.Equal(t, abi.CodeAddress, abi.CodeOf(r.err))
	require.ErrorContains(t, r.err, "--grpc-addr: ")
	require.Equal(t, 2*time.Second, listenTimeout)
}

// TestListenIsStopped: Ctrl-C ends a host that still waits for its address.
func TestListenIsStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	taken, _, result := listening(ctx, t)
	defer func() { require.NoError(t, taken.Close()) }()
	stop()
	require.Equal(t, context.Canceled, (<-result).err)
}

// TestAddressesShareTheWait: a host gives up once the time has passed, however many addresses it
// has.
func TestAddressesShareTheWait(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	clock := clockwork.NewFakeClock()
	wait := newAddressWait(clock)
	clock.Advance(listenTimeout) // for the first address
	_, err = wait.listen(t.Context(), "--http-addr", taken.Addr().String())
	require.Equal(t, abi.CodeAddress, abi.CodeOf(err))
	free, err := wait.listen(t.Context(), "--http-addr", "127.0.0.1:0")
	require.NoError(t, err, "one that is free is tried all the same")
	require.NoError(t, free.Close())
}
