package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/leaktest"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

func testConfig(t *testing.T) Config {
	t.Helper()
	return Config{
		DrainTimeout: time.Second,
		GRPCAddr:     "127.0.0.1:0",
		HTTPAddr:     "127.0.0.1:0",
		Logger:       slog.New(slog.DiscardHandler),
		Store:        "sqlite:" + t.TempDir(),
	}
}

func TestHostAnswersUntilItStops(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	h, err := Start(t.Context(), cfg)
	require.NoError(t, err)

	c, err := client.Dial(h.GRPCAddr(), client.WithRetryFor(0))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	list, err := c.Deployments().ListDeployments(t.Context(), &crusterv1.ListDeploymentsRequest{})
	require.NoError(t, err)
	require.Empty(t, list.GetDeployments())
	require.Empty(t, h.Deployments(t.Context(), "default"))

	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := probe.Get("http://" + h.HTTPAddr() + "/readyz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)

	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, h.Wait(ctx), "a host that is told to stop has not failed")
	require.NoError(t, h.Stop())
	_, err = c.Deployments().ListDeployments(t.Context(), &crusterv1.ListDeploymentsRequest{})
	require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))

	again, err := Start(t.Context(), cfg)
	require.NoError(t, err, "the store is free again")
	require.NoError(t, again.Stop())
}

// TestStopReturnsWhateverHangs: a part of the host that never comes to its end does not keep the process.
func TestStopReturnsWhateverHangs(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.DrainTimeout, cfg.Retention = time.Millisecond, time.Millisecond
	hangs, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	undertest.Of(&cfg.UnderTest).FaultPoint = func(point string) {
		if point == faultpoint.SweepBeforeCommit {
			once.Do(func() {
				close(hangs)
				<-goOn
			})
		}
	}
	h, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	<-hangs
	h.endTimeout = -hangUpTimeout
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(h.Stop()))
	close(goOn)
	h.servers.Wait()
}

func TestProfilesAreServedIfAskedFor(t *testing.T) {
	t.Parallel()
	for want, profiling := range map[int]bool{http.StatusNotFound: false, http.StatusOK: true} {
		cfg := testConfig(t)
		cfg.Profiling = profiling
		h, err := Start(t.Context(), cfg)
		require.NoError(t, err)
		probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := probe.Get("http://" + h.HTTPAddr() + "/debug/pprof/allocs")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode)
		require.NoError(t, h.Stop())
	}
}

func TestWaitReturnsWhatEndedAServer(t *testing.T) {
	t.Parallel()
	h, err := Start(t.Context(), testConfig(t))
	require.NoError(t, err)
	broken := errors.New("broken")
	h.fail(broken)
	h.fail(errors.New("a second failure"))
	require.ErrorIs(t, h.Wait(t.Context()), broken)
	require.NoError(t, h.Stop())
}

// A host whose files were deleted is not ready, and ends by itself: its acknowledged writes would
// be gone after a restart.
func TestHostEndsWhenItsFilesAreGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := testConfig(t)
	cfg.Store = "sqlite:" + dir
	h, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, sqlite.FileName)))

	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := probe.Get("http://" + h.HTTPAddr() + "/readyz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Equal(t, abi.CodeStoreGone, abi.CodeOf(h.Wait(t.Context())))
	require.NoError(t, h.Stop())
}

// A host that cannot start leaves nothing behind: neither its store nor its addresses are taken.
func TestHostsThatDoNotStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })

	for name, tc := range map[string]struct {
		change   func(*Config)
		want     string
		wantCode abi.Code
	}{
		"Store":      {func(c *Config) { c.Store = "mysql://x" }, "--store is not understood", ""},
		"GRPCAddr":   {func(c *Config) { c.GRPCAddr = taken.Addr().String() }, "--grpc-addr: ", abi.CodeAddress},
		"HTTPAddr":   {func(c *Config) { c.HTTPAddr = taken.Addr().String() }, "--http-addr: ", abi.CodeAddress},
		"NotAnAddr":  {func(c *Config) { c.HTTPAddr = "nowhere" }, "--http-addr: ", abi.CodeBadConfig},
		"Activities": {func(c *Config) { c.MaxActivities = -1 }, "", abi.CodeBadConfig},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := testConfig(t)
			bad := good
			tc.change(&bad)
			_, err := Start(t.Context(), bad)
			require.ErrorContains(t, err, tc.want)
			if tc.wantCode != "" {
				require.Equal(t, tc.wantCode, abi.CodeOf(err))
			}
			h, err := Start(t.Context(), good)
			require.NoError(t, err)
			require.NoError(t, h.Stop())
		})
	}
}
