package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/addrtest"
)

func TestUnreachableHost(t *testing.T) {
	t.Parallel()
	addr := addrtest.Reserve(t)

	code, stdout, stderr := invoke(t, "workflow", "poll", "a/B/c", "--addr", addr, "--retry-for", "0s")
	require.Equal(t, exitUnavailable, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "error: CR-5010: no host answers at "+addr+": ")
	require.Contains(t, stderr, "hint: ")
}

// TestAddressesOfOthers: the HTTP address of a host is easily taken for the one of its API.
func TestAddressesOfOthers(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	addr := web.Listener.Addr().String()
	code, _, stderr := invoke(t, "workflow", "poll", "a/B/c", "--addr", addr, "--retry-for", "0s")
	require.Equal(t, exitUnavailable, code)
	require.Equal(t, "error: CR-5010: no host answers at "+addr+`: what listens there speaks HTTP, not gRPC
hint: If it is the HTTP address of a host, name its gRPC address: 127.0.0.1:7600, unless --grpc-addr of 'dev' or 'serve' says otherwise. A host prints both when it starts.
`, stderr)

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = silent.Close(); accepting.Wait() })
	_, _, stderr = invoke(t, "workflow", "poll", "a/B/c", "--addr", silent.Addr().String(), "--retry-for", "0s")
	require.Contains(
		t, stderr,
		"error: CR-5010: no host answers at "+silent.Addr().String()+": what listens there does not speak gRPC (EOF)\n",
	)
}

func TestAddresses(t *testing.T) {
	t.Parallel()

	for _, addr := range []string{
		"127.0.0.1:7600", "[::1]:7600", "localhost:7600", ":7600", "unix:/run/cruster.sock", "dns:///cruster:7600",
	} {
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

// TestCommandsForAnotherTerminal: that has another environment.
func TestCommandsForAnotherTerminal(t *testing.T) {
	t.Parallel()
	a := newApp(Process{LookupEnv: environment("CRUSTER_ADDR=127.0.0.1:7920", "CRUSTER_NAMESPACE=staging")})
	a.addr, a.namespace = "127.0.0.1:7920", "staging"
	require.Equal(t, " --addr 127.0.0.1:7920 --namespace staging", a.addrFlagAnywhere())
	a.addr, a.namespace = defaultAddr, defaultNamespace
	require.Empty(t, a.addrFlagAnywhere())
}

// TestRetryBudgets: a command that waits for an execution anyway waits longer for a host.
func TestRetryBudgets(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]time.Duration{
		"workflow poll a/B/c":                    5 * time.Second,
		"deferred resolve a/B/c d":               5 * time.Second,
		"workflow execute a/B":                   30 * time.Second,
		"workflow wait a/B/c":                    30 * time.Second,
		"workflow follow a/B/c":                  30 * time.Second,
		"workflow wait a/B/c --retry-for 5s":     5 * time.Second,
		"workflow follow a/B/c --retry-for 0":    0,
		"deferred resolve a/B/c d --retry-for 0": 0,
	} {
		require.Equal(t, want, budgetOf(t, line), line)
	}
	require.Equal(t, time.Second, budgetOf(t, "workflow wait a/B/c", "CRUSTER_RETRY_FOR=1s"))
}

func budgetOf(t *testing.T, line string, env ...string) time.Duration {
	t.Helper()
	a := newApp(Process{LookupEnv: environment(env...)})
	cmd, rest, err := a.rootCommand().Find(words(line))
	require.NoError(t, err)
	require.NoError(t, cmd.ParseFlags(rest))
	require.NoError(t, a.prepare(cmd, nil))
	return a.retryFor
}

// TestUnreachableHostForCallsMadeOnce: they wait as long as others, and say the same.
func TestUnreachableHostForCallsMadeOnce(t *testing.T) {
	t.Parallel()
	addr := addrtest.Reserve(t)
	module := filepath.Join(t.TempDir(), "m.wasm")
	require.NoError(t, os.WriteFile(module, []byte("\x00asm\x01\x00\x00\x00"), 0o600))

	for _, budget := range []string{"0", "100ms"} {
		for _, line := range []string{
			"deferred resolve a/B/c d", "deferred reject a/B/c d --error no", "workflow signal a/B/c s",
			"workflow resume a/B/c",
			"workflow fail a/B/c --reason no", "workflow delete a/B/c", "workflow move a/B/c --to latest",
			"workflow update a/B/c u", "module push " + module + " --name m",
		} {
			code, _, stderr := invoke(t, append(words(line), "--addr", addr, "--retry-for", budget)...)
			require.Equal(t, exitUnavailable, code, "%s: %s", line, stderr)
			require.Contains(t, stderr, "error: CR-5010: no host answers at "+addr+": ", line)
		}
	}
}
