// Package addrtest has addresses for tests. It imports nothing of Cruster.
package addrtest

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reserve finds a free address, and keeps it until the test ends: a host that is killed finds it free when it starts
// again. Otherwise any connection that any process makes in between could be given the port for its own end.
//
// A socket that is bound to the address and does not listen keeps it. The kernel gives such a port only to processes
// that ask for it by number, and listeners of Go, which reuse addresses, get it.
func Reserve(t testing.TB) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(socket) })
	require.NoError(t, syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	require.NoError(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := syscall.Getsockname(socket)
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}
