package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cruster/cruster/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers resolves each name to the next of its answers; the last one stays.
type answers struct {
	mu    sync.Mutex
	names map[string][]string
	asked int
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	list, ok := a.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		a.names[host] = list[1:]
	}
	var out []netip.Addr
	for _, s := range strings.Fields(list[0]) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

type testBundle struct {
	client *Client
	server *httptest.Server
	host   string // of the server: 127.0.0.1:port
	port   string
	policy *Policy // grants exactly the server
	hits   *atomic.Int64
}

func setup(t *testing.T, cfg Config, handler http.HandlerFunc) *testBundle {
	t.Helper()
	b := &testBundle{hits: &atomic.Int64{}}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.hits.Add(1)
		handler(w, r)
	}))
	t.Cleanup(b.server.Close)
	u, err := url.Parse(b.server.URL)
	require.NoError(t, err)
	b.host, b.port = u.Host, u.Port()
	b.policy = mustGrants(t, b.host)
	b.client = NewClient(cfg)
	t.Cleanup(b.client.Close)
	return b
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func requireCode(t *testing.T, code abi.Code, fault *abi.Error) {
	t.Helper()
	require.NotNil(t, fault)
	require.Equal(t, code, fault.Code, fault.Message)
	require.Equal(t, code.Info().Retryable, fault.Retryable)
	require.NotEmpty(t, fault.Hint)
}

func TestDoSendsAndReceives(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-B", "1")
		w.Header().Add("X-A", "2")
		w.Header().Add("X-A", "3")
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Ask"), r.UserAgent(), body)
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
	for _, grants := range [][]string{nil, {"example.com"}, {"127.0.0.1:1"}, {"localhost"}, {"private.example.com"}, {"*"}} {
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

func TestPrivateAddressGrantedBesideTheName(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"private.example.com": {"127.0.0.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	policy := mustGrants(t, "private.example.com", "127.0.0.0/8")
	resp, fault := b.client.Do(t.Context(), policy, abi.HTTPRequest{URL: "http://private.example.com:" + b.port})
	require.Nil(t, fault)
	require.Equal(t, "hello", string(resp.Body))
}

func TestLocalhostGrant(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"localhost": {"192.0.2.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	_, fault := b.client.Do(t.Context(), mustGrants(t, "localhost:"+b.port), abi.HTTPRequest{URL: "http://localhost:" + b.port})
	require.Nil(t, fault)
	require.Zero(t, dns.asked, "what localhost means is not asked of a name server")
}

// Whoever owns a granted name can point it at the host's own network at any
// time. The address that counts is the one that is dialled.
func TestRebindingGainsNothing(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"evil.example.com": {"127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	policy := mustGrants(t, "evil.example.com")
	for range 3 {
		_, fault := b.client.Do(t.Context(), policy, abi.HTTPRequest{URL: "http://evil.example.com:" + b.port})
		requireCode(t, abi.CodeHTTPForbidden, fault)
	}
	require.Zero(t, b.hits.Load())

	// A mixed answer: only the allowed address is tried.
	dns.names["mixed.example.com"] = []string{"169.254.169.254 127.0.0.1"}
	_, fault := b.client.Do(t.Context(), mustGrants(t, "mixed.example.com", "127.0.0.1"), abi.HTTPRequest{URL: "http://mixed.example.com:" + b.port})
	require.Nil(t, fault)
	require.EqualValues(t, 1, b.hits.Load())
}

// One lookup serves both the check and the dial.
func TestTheCheckedAddressIsTheDialledOne(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"twice.example.com": {"127.0.0.1", "192.0.2.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	_, fault := b.client.Do(t.Context(), mustGrants(t, "twice.example.com", "127.0.0.1"), abi.HTTPRequest{URL: "http://twice.example.com:" + b.port})
	require.Nil(t, fault)
	require.Equal(t, 1, dns.asked)
}

func TestConnectionsAreNotSharedBetweenPolicies(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"private.example.com": {"127.0.0.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	req := abi.HTTPRequest{URL: "http://private.example.com:" + b.port}
	_, fault := b.client.Do(t.Context(), mustGrants(t, "private.example.com", "127.0.0.1"), req)
	require.Nil(t, fault)
	_, fault = b.client.Do(t.Context(), mustGrants(t, "private.example.com"), req)
	requireCode(t, abi.CodeHTTPForbidden, fault)
	require.EqualValues(t, 1, b.hits.Load())
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
	_, fault = b.client.Do(t.Context(), b.policy, abi.HTTPRequest{Method: "POST", URL: b.server.URL, Body: make([]byte, limit+1)})
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
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		require.Empty(t, r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	resp, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL})
	require.Nil(t, fault)
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
			_, fault := b.client.Do(t.Context(), b.policy, abi.HTTPRequest{URL: b.server.URL + path, Timeout: int64(50 * time.Millisecond)})
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
	_, fault = b.client.Do(t.Context(), mustGrants(t, "unknown.example.com"), abi.HTTPRequest{URL: "http://unknown.example.com"})
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

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, hello)
	header := func(name, value string) abi.HTTPRequest {
		return abi.HTTPRequest{URL: b.server.URL, Headers: []abi.Header{{Name: name, Value: value}}}
	}
	at := func(url string) abi.HTTPRequest { return abi.HTTPRequest{URL: url} }
	for name, req := range map[string]abi.HTTPRequest{
		"no url":            at(""),
		"relative":          at("/x"),
		"no host":           at("http://"),
		"opaque":            at("http:127.0.0.1"),
		"ftp":               at("ftp://" + b.host),
		"file":              at("file:///etc/passwd"),
		"unix":              at("unix:///run/x.sock"),
		"userinfo":          at("http://user:secret@" + b.host),
		"empty userinfo":    at("http://@" + b.host),
		"empty port":        at("http://127.0.0.1:/"),
		"port 0":            at("http://127.0.0.1:0/"),
		"port 99999":        at("http://127.0.0.1:99999/"),
		"short address":     at("http://127.1:" + b.port),
		"decimal address":   at("http://2130706433:" + b.port),
		"hex address":       at("http://0x7f000001:" + b.port),
		"octal address":     at("http://0177.0.0.1:" + b.port),
		"zone":              at("http://[fe80::1%25eth0]/"),
		"escaped host":      at("http://127%2e0.0.1:" + b.port),
		"unicode dots":      at("http://127。0。0。1:" + b.port),
		"line break":        at(b.server.URL + "/\r\nX: y"),
		"long url":          at(b.server.URL + "/" + strings.Repeat("x", maxURL)),
		"not utf-8":         at(b.server.URL + "/\xff"),
		"CONNECT":           {URL: b.server.URL, Method: "CONNECT"},
		"trace":             {URL: b.server.URL, Method: "trace"},
		"method injection":  {URL: b.server.URL, Method: "GET / HTTP/1.1\r\nX:"},
		"negative timeout":  {URL: b.server.URL, Timeout: -1},
		"host":              header("host", "internal"),
		"connection":        header("Connection", "close"),
		"transfer-encoding": header("transfer-encoding", "chunked"),
		"content-length":    header("Content-Length", "5"),
		"te":                header("TE", "trailers"),
		"trailer":           header("Trailer", "x"),
		"upgrade":           header("Upgrade", "websocket"),
		"expect":            header("Expect", "100-continue"),
		"keep-alive":        header("Keep-Alive", "1"),
		"proxy":             header("Proxy-Authorization", "x"),
		"empty name":        header("", "x"),
		"name with space":   header("X Y", "x"),
		"name with colon":   header("X:", "x"),
		"value injection":   header("X", "a\r\nHost: internal"),
		"value with nul":    header("X", "a\x00"),
		"big header":        header("X", strings.Repeat("x", maxHeaderBytes)),
		"many headers":      {URL: b.server.URL, Headers: make([]abi.Header, maxHeaders+1)},
	} {
		_, fault := b.client.Do(t.Context(), b.policy, req)
		require.NotNil(t, fault, name)
		require.Equal(t, abi.CodeHTTPBadRequest, fault.Code, "%s: %s", name, fault.Message)
		require.NotContains(t, fault.Message, "secret", name)
	}
	require.Zero(t, b.hits.Load())
}

func TestTransportsAreBounded(t *testing.T) {
	t.Parallel()
	c := NewClient(Config{})
	first := c.transports.of(mustGrants(t, "host0.example.com"))
	require.Same(t, first, c.transports.of(mustGrants(t, "host0.example.com")))
	for i := range maxTransports {
		c.transports.of(mustGrants(t, fmt.Sprintf("host%d.example.com", i+1)))
	}
	require.Equal(t, maxTransports, c.transports.recent.Len())
	require.NotSame(t, first, c.transports.of(mustGrants(t, "host0.example.com")))
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
