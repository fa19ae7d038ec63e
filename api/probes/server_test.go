package probes_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/probes"
	"github.com/cruster/cruster/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

func TestEndpoints(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total"})
	registry.MustRegister(counter)
	counter.Inc()
	for name, tc := range map[string]struct {
		ready      error
		method     string
		path       string
		wantStatus int
		wantBody   string
	}{
		"Alive": {nil, http.MethodGet, "/healthz", http.StatusOK, "ok\n"},
		"AliveWhileNotReady": {
			abi.Errorf(abi.CodeStore, "the disk is full"), http.MethodGet, "/healthz", http.StatusOK, "ok\n",
		},
		"Ready": {nil, http.MethodGet, "/readyz", http.StatusOK, "ok\n"},
		"NotReady": {
			abi.Errorf(abi.CodeStore, "the disk is full"), http.MethodGet, "/readyz", http.StatusServiceUnavailable,
			"CR-5005: the disk is full\n",
		},
		"Metrics":     {nil, http.MethodGet, "/metrics", http.StatusOK, "things_total 1\n"},
		"OtherPath":   {nil, http.MethodGet, "/", http.StatusNotFound, ""},
		"OtherMethod": {nil, http.MethodPost, "/readyz", http.StatusMethodNotAllowed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := probes.New(probes.Config{
				Gatherer: registry, Ready: func(context.Context) error { return tc.ready },
			})
			require.NoError(t, err)
			rec := httptest.NewRecorder()
			server.Handler().ServeHTTP(rec, httptest.NewRequest(tc.method, tc.path, nil))
			require.Equal(t, tc.wantStatus, rec.Code)
			require.Contains(t, rec.Body.String(), tc.wantBody)
		})
	}
}

// Profiles are served only if they were asked for, and never with the command line.
func TestProfilesAreOffByDefault(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		profiling bool
		path      string
		want      int
	}{
		"OffIndex":      {false, "/debug/pprof/", http.StatusNotFound},
		"OffHeap":       {false, "/debug/pprof/heap", http.StatusNotFound},
		"OffProfile":    {false, "/debug/pprof/profile?seconds=1", http.StatusNotFound},
		"OnIndex":       {true, "/debug/pprof/", http.StatusOK},
		"OnHeap":        {true, "/debug/pprof/heap", http.StatusOK},
		"OnCommandLine": {true, "/debug/pprof/cmdline", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := probes.New(probes.Config{
				Profiling: tc.profiling, Ready: func(context.Context) error { return nil },
			})
			require.NoError(t, err)
			rec := httptest.NewRecorder()
			server.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, tc.path, nil))
			require.Equal(t, tc.want, rec.Code)
		})
	}
}

func TestReadinessIsBounded(t *testing.T) {
	t.Parallel()
	server, err := probes.New(probes.Config{Ready: func(ctx context.Context) error {
		_, bounded := ctx.Deadline()
		require.True(t, bounded, "an engine that hangs would hang the probe")
		return nil
	}})
	require.NoError(t, err)
	rec := httptest.NewRecorder()
	server.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	require.Equal(t, http.StatusOK, rec.Code)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := probes.New(probes.Config{})
	require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err))
}

func TestCloseEndsServe(t *testing.T) {
	t.Parallel()
	server, err := probes.New(probes.Config{Ready: func(context.Context) error { return nil }})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + listener.Addr().String() + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, server.Close())
	require.NoError(t, <-served, "Close is no failure")
}
