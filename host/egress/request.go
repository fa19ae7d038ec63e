package egress

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/cruster/cruster/abi"
)

// Bounds on the parts of a request besides the body.
const (
	maxURL         = 8 << 10
	maxMethod      = 32
	maxHeaders     = 100
	maxHeaderBytes = 64 << 10
)

// refusedHeaders frame the message or belong to one connection. They are the host's to set: a guest that
// could set them would smuggle requests past proxies between it and the server.
var refusedHeaders = map[string]bool{
	"Connection":        true,
	"Content-Length":    true,
	"Expect":            true,
	"Host":              true,
	"Http2-Settings":    true,
	"Keep-Alive":        true,
	"Proxy-Connection":  true,
	"Te":                true,
	"Trailer":           true,
	"Transfer-Encoding": true,
	"Upgrade":           true,
}

// target is the host and port that a URL names, in normal form.
type target struct {
	name string     // empty if the URL names an address
	addr netip.Addr // zero if it names a host
	port uint16
}

// parseURL checks the URL of a guest's request.
func parseURL(raw string) (*url.URL, target, *abi.Error) {
	var t target
	if len(raw) > maxURL {
		return nil, t, badRequest("the URL has %d bytes, more than %d", len(raw), maxURL)
	}
	if !utf8.ValidString(raw) {
		return nil, t, badRequest("the URL is not UTF-8")
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse repeats the URL, which may hold secrets.
		return nil, t, badRequest("the URL cannot be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, t, badRequest("the URL has the scheme %s", quote(u.Scheme))
	}
	if u.User != nil {
		return nil, t, badRequest("the URL holds a user or password").
			WithHint("Send credentials in the Authorization header.")
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return nil, t, badRequest("the URL has no host")
	}
	if t.port, err = portOf(u); err != nil {
		return nil, t, badRequest("the URL: %v", err)
	}
	if t.addr, err = netip.ParseAddr(u.Hostname()); err == nil {
		if t.addr.Zone() != "" {
			return nil, t, badRequest("the URL has an address with a zone")
		}
		t.addr = t.addr.Unmap()
	} else if t.name, err = normalName(u.Hostname()); err != nil {
		return nil, t, badRequest("the URL: %v", err)
	}
	u.Host, u.Fragment, u.RawFragment = t.host(u), "", ""
	return u, t, nil
}

func portOf(u *url.URL) (uint16, error) {
	switch {
	case u.Port() != "":
		return parsePort(u.Port())
	case strings.HasSuffix(u.Host, ":"):
		return parsePort("?")
	case u.Scheme == "https":
		return 443, nil
	default:
		return 80, nil
	}
}

// host is the host part of the URL again, made of its checked parts.
func (t target) host(u *url.URL) string {
	h := t.name
	if h == "" {
		h = t.addr.String()
	}
	switch {
	case u.Port() != "":
		return net.JoinHostPort(h, u.Port())
	case strings.Contains(h, ":"):
		return "[" + h + "]"
	default:
		return h
	}
}

// allowed checks the host of the URL; the address is checked when it is dialled.
func (t target) allowed(p *Policy) bool {
	if t.name != "" {
		return p.allowsName(t.name, t.port)
	}
	return p.allowsAddr(effective(t.addr), t.port)
}

// newRequest makes the HTTP request to send out of the guest's request.
func newRequest(ctx context.Context, u *url.URL, req abi.HTTPRequest) (*http.Request, *abi.Error) {
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	if len(method) > maxMethod || !isToken(method) {
		return nil, badRequest("the method %s is not a token", quote(method))
	}
	if m := strings.ToUpper(method); m == http.MethodConnect || m == http.MethodTrace {
		return nil, badRequest("the method %s is not available to modules", m)
	}
	header, fault := headerOf(req.Headers)
	if fault != nil {
		return nil, fault
	}
	out, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(req.Body))
	if err != nil {
		return nil, badRequest("the request cannot be built for %s", place(u))
	}
	out.Header = header
	return out, nil
}

func headerOf(list []abi.Header) (http.Header, *abi.Error) {
	if len(list) > maxHeaders {
		return nil, badRequest("%d headers are more than %d", len(list), maxHeaders)
	}
	header, size := make(http.Header, len(list)+1), 0
	for _, h := range list {
		if size += len(h.Name) + len(h.Value); size > maxHeaderBytes {
			return nil, badRequest("the headers have more than %d bytes", maxHeaderBytes)
		}
		if !isToken(h.Name) {
			return nil, badRequest("the header name %s is not a token", quote(h.Name))
		}
		name := textproto.CanonicalMIMEHeaderKey(h.Name)
		if refusedHeaders[name] || strings.HasPrefix(name, "Proxy-") {
			return nil, badRequest("the header %s is not available to modules", name).
				WithHint("The host sets the headers that frame a message; leave it out.")
		}
		if !isFieldValue(h.Value) {
			return nil, badRequest("the value of the header %s holds control characters", name)
		}
		header.Add(name, h.Value)
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "cruster")
	}
	return header, nil
}

// isToken tells whether s is a token of RFC 9110: a method or a header's name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if !isAlphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func isFieldValue(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// place names a URL in messages and logs without its query, which may hold secrets.
func place(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func badRequest(format string, args ...any) *abi.Error {
	return abi.Errorf(abi.CodeHTTPBadRequest, format, args...)
}
