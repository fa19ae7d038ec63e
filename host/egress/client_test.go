package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestDoSendsAndReceives(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-B", "1")
		w.Header().Add("X-A", "2")
		w.Header().Add("X-A", "3")
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(
			w, "%s %s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Ask"), r.UserAgent(), body,
		)
	})
	resp, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{
		Method: "PUT", URL: b.server.URL + "/p?q=1#fragment", Body: []byte("body"),
		Headers: []abi.Header{{Name: "x-ask", Value: "why"}},
	})
	require.Nil(t, fault)
	require.Equal(t, http.StatusTeapot, resp.Status)
	require.Equal(t, "PUT /p?q=1 why cruster body", string(resp.Body))
	var names []string
	for _, h := range resp.Headers {
		names = append(names, h.Name+"="+h.Value)
	}
	require.Subset(t, names, []string{"X-A=2", "X-A=3", "X-B=1"})
	require.IsIncreasing(t, names[len(names)-3:])
}

func TestDoDefaultsToGet(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Method) })
	resp, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL})
	require.Nil(t, fault)
	require.Equal(t, "GET", string(resp.Body))
}

func TestHostsThatWereNotGranted(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{Resolver: &answers{names: map[string][]string{"private.example.com": {"127.0.0.1"}}}}, hello)
	for _, grants := range [][]string{
		nil, {"example.com"}, {"127.0.0.1:1"}, {"localhost"}, {"private.example.com"}, {"*"},
	} {
		policy := mustGrants(t, grants...)
		for _, host := range []string{b.host, "private.example.com:" + b.port, "localhost:" + b.port} {
			if host == "localhost:"+b.port && slices.Contains(grants, "localhost") {
				continue
			}
			_, fault := b.client.Do(t.Context(), policy, abi.HTTPRequest{URL: "http://" + host})
			requireCode(t, abi.CodeHTTPForbidden, fault)
		}
	}
	_, fault := b.client.Do(t.Context(), nil, abi.HTTPRequest{URL: b.server.URL})
	requireCode(t, abi.CodeHTTPForbidden, fault)
	require.Zero(t, b.hits.Load(), "nothing was sent")
}

func TestRedirectsAreHandedOver(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/secret" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "/secret", http.StatusFound)
	})
	resp, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL})
	require.Nil(t, fault)
	require.Equal(t, http.StatusFound, resp.Status)
	require.Contains(t, resp.Headers, abi.Header{Name: "Location", Value: "/secret"})
	require.EqualValues(t, 1, b.hits.Load())
}

func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	t.Parallel()
	require.Nil(t, NewClient(Config{}).newTransport(mustGrants(t)).Proxy)
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 1000
	b := setup(t, Config{MaxRequest: limit, MaxResponse: limit}, func(w http.ResponseWriter, r *http.Request) {
		body := bytes.Repeat([]byte("x"), limit)
		switch r.URL.Path {
		case "/announced":
			_, _ = w.Write(append(body, 'x'))
		case "/chunked":
			for range 100 {
				_, _ = w.Write(body)
				w.(http.Flusher).Flush()
			}
		default:
			_, _ = w.Write(body)
		}
	})
	resp, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL})
	require.Nil(t, fault)
	require.Len(t, resp.Body, limit)
	for _, path := range []string{"/announced", "/chunked"} {
		_, fault = b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL + path})
		requireCode(t, abi.CodeHTTPTooLarge, fault)
	}
	before := b.hits.Load()
	_, fault = b.client.Do(t.Context(), b.policy, abi.HTTPRequest{
		Method: "POST", URL: b.server.URL, Body: make([]byte, limit+1),
	})
	requireCode(t, abi.CodeHTTPTooLarge, fault)
	require.Equal(t, before, b.hits.Load())
}

func TestLimitsLeaveRoomForTheEncoding(t *testing.T) {
	t.Parallel()
	cfg := Config{MaxRequest: 1 << 40, MaxResponse: 1 << 40}.withDefaults()
	require.Less(t, cfg.MaxRequest, int64(abi.MaxBody))
	require.Less(t, cfg.MaxResponse+maxResponseHeaders, int64(abi.MaxBody))
}

func TestGzipIsNotUnpacked(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(make([]byte, 10<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	accepted := make(chan string, 1)
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		accepted <- r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	resp, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL})
	require.Nil(t, fault)
	require.Empty(t, <-accepted)
	require.Equal(t, packed.Bytes(), resp.Body)
}

func TestHeadersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Big", strings.Repeat("x", 2*maxResponseHeaders))
	})
	_, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL})
	requireCode(t, abi.CodeHTTPFailed, fault)
}

func TestSlowServersAreGivenUp(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/headers", "/body"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/body" {
					_, _ = io.WriteString(w, "a little")
					w.(http.Flusher).Flush()
				}
				select {
				case <-over:
				case <-r.Context().Done():
				}
			})
			defer close(over)
			_, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{
				URL: b.server.URL + path, Timeout: int64(50 * time.Millisecond),
			})
			requireCode(t, abi.CodeHTTPFailed, fault)
			require.Contains(t, fault.Message, "within the time allowed")
		})
	}
}

func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := setup(t, Config{}, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, fault := b.client.Do(ctx, b.policy, abi.HTTPRequest{URL: b.server.URL})
	requireCode(t, abi.CodeHTTPFailed, fault)
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	c := NewClient(Config{MaxTimeout: time.Minute})
	for asked, want := range map[int64]time.Duration{0: 30 * time.Second, 5: 5, int64(time.Hour): time.Minute} {
		got, fault := c.timeout(asked)
		require.Nil(t, fault)
		require.Equal(t, want, got)
	}
	_, fault := c.timeout(-1)
	requireCode(t, abi.CodeHTTPBadRequest, fault)
}

func TestServersThatCannotBeReached(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{Resolver: &answers{}}, hello)
	b.server.Close()
	_, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL + "/path?token=secret"})
	requireCode(t, abi.CodeHTTPFailed, fault)
	require.NotContains(t, fault.Message, "secret")
	_, fault = b.client.Do(t.Context(), mustGrants(t, "unknown.example.com"), abi.HTTPRequest{
		URL: "http://unknown.example.com",
	})
	requireCode(t, abi.CodeHTTPFailed, fault)
	require.Contains(t, fault.Message, "no such host")
}

func TestTLSIsChecked(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(hello))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	policy := mustGrants(t, strings.TrimPrefix(server.URL, "https://"))

	strict := NewClient(Config{RootCAs: x509.NewCertPool()})
	t.Cleanup(strict.Close)
	_, fault := strict.Do(t.Context(), policy, abi.HTTPRequest{URL: server.URL})
	requireCode(t, abi.CodeHTTPFailed, fault)

	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	trusting := NewClient(Config{RootCAs: roots})
	t.Cleanup(trusting.Close)
	resp, fault := trusting.Do(t.Context(), policy, abi.HTTPRequest{URL: server.URL})
	require.Nil(t, fault)
	require.Equal(t, "hello", string(resp.Body))
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, hello)
	var wg sync.WaitGroup
	for i := range 32 {
		policy := mustGrants(t, b.host, fmt.Sprintf("h%d.example.com", i%4))
		wg.Go(func() {
			for range 10 {
				if _, fault := b.client.Do(t.Context(), policy, abi.HTTPRequest{URL: b.server.URL}); fault != nil {
					t.Error(fault)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 320, b.hits.Load())
}

// Records of calls say how long they took, by the clock of the configuration.
func TestCallsAreMeasuredByTheClock(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b := setup(
		t, Config{Clock: clock, Logger: logger},
		func(http.ResponseWriter, *http.Request) { clock.Advance(7 * time.Second) },
	)
	_, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL + "/?secret"})
	require.Nil(t, fault)
	require.Contains(t, log.String(), "took=7s")
	require.NotContains(t, log.String(), "secret")
}
