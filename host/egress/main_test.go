package egress

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

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
