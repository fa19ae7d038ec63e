package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/timelimit"
)

// headroom is left between a body and [abi.MaxBody] for the headers and the encoding around it.
const headroom = 512 << 10

// maxResponseHeaders bounds the headers of a response; it is within headroom.
const maxResponseHeaders = 128 << 10

// Resolver turns a name into addresses; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is the configuration of a [Client]. The zero value is the default.
type Config struct {
	// Clock measures how long calls take. Defaults to the real clock.
	Clock clockwork.Clock
	// DefaultTimeout bounds a call that names no timeout. Defaults to 30 s.
	DefaultTimeout time.Duration
	// Logger receives one record a call, on debug level. Defaults to none.
	Logger *slog.Logger
	// MaxRequest bounds the body of a request in bytes. Defaults to, and is at most, abi.MaxBody less 512 KiB.
	MaxRequest int64
	// MaxResponse bounds the body of a response in bytes. Defaults to, and is at most, abi.MaxBody less 512 KiB.
	MaxResponse int64
	// MaxTimeout bounds the timeout that a call may name. Defaults to 5 min.
	MaxTimeout time.Duration
	// Resolver resolves host names. Defaults to the system's.
	Resolver Resolver
	// RootCAs are the authorities that servers are checked against. Defaults to the system's.
	RootCAs *x509.CertPool
}

func (cfg Config) withDefaults() Config {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	if cfg.DefaultTimeout <= 0 {
		cfg.DefaultTimeout = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxRequest <= 0 || cfg.MaxRequest > abi.MaxBody-headroom {
		cfg.MaxRequest = abi.MaxBody - headroom
	}
	if cfg.MaxResponse <= 0 || cfg.MaxResponse > abi.MaxBody-headroom {
		cfg.MaxResponse = abi.MaxBody - headroom
	}
	if cfg.MaxTimeout <= 0 {
		cfg.MaxTimeout = 5 * time.Minute
	}
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	return cfg
}

// Client makes HTTP calls for guests. It is safe for concurrent use.
type Client struct {
	cfg        Config
	transports *transports
	// beside bounds the calls that are under way beside the first of their activities.
	beside *semaphore.Weighted
}

// NewClient makes a client; [Client.Close] releases its connections.
func NewClient(cfg Config) *Client {
	c := &Client{cfg: cfg.withDefaults(), beside: semaphore.NewWeighted(maxBeside)}
	c.transports = newTransports(c.newTransport)
	return c
}

// Close closes the connections that are idle. Calls under way go on.
func (c *Client) Close() { c.transports.close() }

// Do makes one call under a policy. Every answer of the server is a response, whatever its status; redirects are not
// followed.
func (c *Client) Do(ctx context.Context, p *Policy, req abi.HTTPRequest) (*abi.HTTPResponse, *abi.Error) {
	return c.do(ctx, p, req, newRoom(c.cfg.MaxResponse, false))
}

// do makes a call whose response takes as much as there is room for.
func (c *Client) do(ctx context.Context, p *Policy, req abi.HTTPRequest, r *room) (*abi.HTTPResponse, *abi.Error) {
	u, to, fault := parseURL(req.URL)
	if fault != nil {
		return nil, fault
	}
	if !to.allowed(p) {
		return nil, forbidden(u.Host, "%s is not among the hosts that this deployment was granted", u.Host)
	}
	if int64(len(req.Body)) > c.cfg.MaxRequest {
		return nil, abi.Errorf(
			abi.CodeHTTPTooLarge, "the request to %s has %d bytes, more than %d", place(u), len(req.Body),
			c.cfg.MaxRequest,
		)
	}
	timeout, fault := c.timeout(req.Timeout)
	if fault != nil {
		return nil, fault
	}
	ctx, cancel := timelimit.WithTimeout(ctx, c.cfg.Clock, timeout)
	defer cancel()
	out, fault := newRequest(ctx, u, req)
	if fault != nil {
		return nil, fault
	}
	began := c.cfg.Clock.Now()
	resp, fault := c.roundTrip(p, out, &share{room: r})
	if fault != nil {
		c.cfg.Logger.DebugContext(
			ctx, "http call failed", "method", out.Method, "url", place(u), "error", fault.Message, "took",
			c.cfg.Clock.Since(began),
		)
		return nil, fault
	}
	c.cfg.Logger.DebugContext(
		ctx, "http call", "method", out.Method, "url", place(u), "status", resp.Status, "bytes", len(resp.Body), "took",
		c.cfg.Clock.Since(began),
	)
	return resp, nil
}

func (c *Client) timeout(asked int64) (time.Duration, *abi.Error) {
	switch {
	case asked < 0:
		return 0, badRequest("the timeout is negative")
	case asked == 0:
		return c.cfg.DefaultTimeout, nil
	default:
		return min(time.Duration(asked), c.cfg.MaxTimeout), nil
	}
}

// roundTrip sends the request and reads the whole response. It uses the transport itself and no http.Client: that would
// follow redirects.
func (c *Client) roundTrip(p *Policy, req *http.Request, taken *share) (_ *abi.HTTPResponse, fault *abi.Error) {
	resp, err := c.transports.of(p).RoundTrip(req)
	if err != nil {
		return nil, c.failure(req, err)
	}
	defer resp.Body.Close()
	defer func() { // before the server can tell that it was given up
		if fault != nil {
			taken.leave()
		} else {
			taken.read()
		}
	}()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, abi.Errorf(
			abi.CodeHTTPFailed, "%s %s: the server switched to another protocol, unasked", req.Method, place(req.URL),
		)
	}
	if resp.ContentLength > c.cfg.MaxResponse && req.Method != http.MethodHead {
		return nil, c.tooLarge(req)
	}
	headers := headersOf(resp.Header)
	length := resp.ContentLength
	if req.Method == http.MethodHead {
		length = 0
	}
	var body []byte
	if err = taken.takeHeaders(req.Context(), headers, length); err == nil {
		body, err = io.ReadAll(&roomReader{
			from: resp.Body, grow: func(n int64) error { return taken.grow(req.Context(), n) },
		})
	}
	switch {
	case errors.Is(err, errNoRoom):
		return nil, c.noRoom(req, taken.room)
	case err != nil:
		return nil, c.failure(req, err)
	}
	return &abi.HTTPResponse{Body: body, Headers: headers, Status: resp.StatusCode}, nil
}

// noRoom is tooLarge of a response that may have been one of several.
func (c *Client) noRoom(req *http.Request, r *room) *abi.Error {
	if !r.shared {
		return c.tooLarge(req)
	}
	return abi.Errorf(
		abi.CodeHTTPTooLarge, "%s %s: the responses of this call together have more than %d bytes", req.Method,
		place(req.URL), c.cfg.MaxResponse,
	)
}

func (c *Client) tooLarge(req *http.Request) *abi.Error {
	return abi.Errorf(
		abi.CodeHTTPTooLarge, "%s %s: the response has more than %d bytes", req.Method, place(req.URL),
		c.cfg.MaxResponse,
	)
}

// failure tells the guest why there is no response.
func (c *Client) failure(req *http.Request, err error) *abi.Error {
	var fault *abi.Error
	if errors.As(err, &fault) { // the dialer's own
		return fault
	}
	// The request's URL is not repeated: its query may hold secrets.
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if gaveUp := context.Cause(req.Context()); gaveUp != nil {
		if errors.Is(gaveUp, context.DeadlineExceeded) {
			return abi.Errorf(
				abi.CodeHTTPFailed, "%s %s: no complete answer within the time allowed", req.Method, place(req.URL),
			)
		}
		return abi.Errorf(abi.CodeHTTPFailed, "%s %s: the call was given up", req.Method, place(req.URL))
	}
	return abi.Errorf(abi.CodeHTTPFailed, "%s %s: %v", req.Method, place(req.URL), err)
}

// headersOf lists the headers of a response by name; headers of one name keep their order.
func headersOf(h http.Header) []abi.Header {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	list := make([]abi.Header, 0, len(h))
	for _, name := range names {
		for _, v := range h[name] {
			list = append(list, abi.Header{
				Name: strings.ToValidUTF8(name, "\uFFFD"), Value: strings.ToValidUTF8(v, "\uFFFD"),
			})
		}
	}
	return list
}

func (c *Client) newTransport(p *Policy) *http.Transport {
	d := &dialer{policy: p, resolver: c.cfg.Resolver}
	return &http.Transport{
		DialContext:            d.dial,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: maxResponseHeaders,
		Proxy:                  nil, // never the environment's
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.cfg.RootCAs},
		TLSHandshakeTimeout:    10 * time.Second,
	}
}

func forbidden(host, format string, args ...any) *abi.Error {
	return abi.Errorf(abi.CodeHTTPForbidden, format, args...).
		WithHint("Grant it with 'cruster-host module push … --allow-http %s'.", host)
}
