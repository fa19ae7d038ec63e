package addrtest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReservedAddressIsForListeners: a host can listen on a reserved address, end, and listen on it again.
func TestReservedAddressIsForListeners(t *testing.T) {
	t.Parallel()
	addr := Reserve(t)
	for range 3 {
		l, err := net.Listen("tcp", addr)
		require.NoError(t, err)
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		accepted, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, accepted.Close()) // the side that closes first keeps the port for a while
		require.NoError(t, conn.Close())
		require.NoError(t, l.Close())
	}
}
