package cli

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnreachableHost(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())

	code, stdout, stderr := invoke(t, "workflow", "poll", "a/B/c", "--addr", l.Addr().String(), "--retry-for", "0s")
	require.Equal(t, exitUnavailable, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "error: CR-5010: no host answers at "+l.Addr().String()+": ")
	require.Contains(t, stderr, "hint: ")
}

func TestAddresses(t *testing.T) {
	t.Parallel()

	for _, addr := range []string{"127.0.0.1:7600", "[::1]:7600", "localhost:7600", ":7600", "unix:/run/cruster.sock", "dns:///cruster:7600"} {
		require.NoError(t, checkAddr(addr), addr)
	}
	for _, addr := range []string{"", "localhost", "localhost:", "https://cruster:7600", "cruster:7600/x:1", "a b:1"} {
		require.Error(t, checkAddr(addr), addr)
	}
}

func TestSuggestedCommandsReachTheSameHost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		addr, namespace, env, want string
	}{
		"Default":                {defaultAddr, "default", "", ""},
		"Environment":            {"db:1", "default", "CRUSTER_ADDR=db:1", ""},
		"Flag":                   {"db:1", "default", "", " --addr db:1"},
		"FlagOverEnv":            {"db:1", "default", "CRUSTER_ADDR=db:2", " --addr db:1"},
		"Namespace":              {"db:1", "staging", "", " --addr db:1 --namespace staging"},
		"NamespaceOfEnvironment": {defaultAddr, "staging", "CRUSTER_NAMESPACE=staging", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp(Process{LookupEnv: environment(tc.env)})
			a.addr, a.namespace = tc.addr, tc.namespace
			require.Equal(t, tc.want, a.addrFlag())
		})
	}
}
