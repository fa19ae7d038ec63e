package crustertest

import (
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cruster/cruster/abi"
)

// Bounds of an HTTP call, as hosts have them unless they are told otherwise.
const (
	maxHTTPBody    = abi.MaxBody - 512<<10
	maxURL         = 8 << 10
	maxMethod      = 32
	maxHeaders     = 100
	maxHeaderBytes = 64 << 10
)

// refusedHeaders frame a message, or belong to a connection.
const refusedHeaders = " Connection Content-Length Expect Host Http2-Settings Keep-Alive Proxy-Connection Te Trailer " +
	"Transfer-Encoding Upgrade "

// checkHTTP refuses the HTTP calls that a host refuses, regardless of the deployment's grants.
func checkHTTP(b *abi.HTTPRequest) *abi.Error {
	u, err := checkURL(b.URL)
	if err != nil {
		return err
	}
	if len(b.Body) > maxHTTPBody {
		return abi.Errorf(
			abi.CodeHTTPTooLarge, "the request to %s has %d bytes, more than %d", place(u), len(b.Body), maxHTTPBody,
		)
	}
	if b.Timeout < 0 {
		return badRequest("the timeout is negative")
	}
	if b.Method != "" && (len(b.Method) > maxMethod || !isToken(b.Method)) {
		return badRequest("the method %s is not a token", quoted(b.Method))
	}
	if m := strings.ToUpper(b.Method); m == "CONNECT" || m == "TRACE" {
		return badRequest("the method %s is not available to modules", m)
	}
	return checkHeaders(b.Headers)
}

// place names a URL without its query, which may hold secrets.
func place(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// checkURL refuses addresses that a host refuses.
func checkURL(raw string) (*url.URL, *abi.Error) {
	switch {
	case len(raw) > maxURL:
		return nil, badRequest("the URL has %d bytes, more than %d", len(raw), maxURL)
	case !utf8.ValidString(raw):
		return nil, badRequest("the URL is not UTF-8")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, badRequest("the URL cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, badRequest("the URL has the scheme %s", quoted(u.Scheme))
	case u.User != nil:
		return nil, badRequest("the URL holds a user or password").WithHint(
			"Send credentials in the Authorization header.",
		)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, badRequest("the URL has no host")
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); (u.Port() != "" || strings.HasSuffix(u.Host, ":")) &&
		(err != nil || n == 0) {
		return nil, badRequest("the URL: the port is not a number from 1 to 65535")
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return u, checkHostName(u.Hostname())
	}
	if addr.Zone() != "" {
		return nil, badRequest("the URL has an address with a zone")
	}
	return u, nil
}

// checkHostName refuses a host that is neither a name nor a complete address, such as 127.1.
func checkHostName(s string) *abi.Error {
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if name == "" || len(name) > 253 {
		return badRequest("the URL: a host name has 1 to 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return badRequest("the URL: %s is not a host name", quoted(s))
		}
		if strings.ContainsFunc(label, func(c rune) bool { return !isAlphanumeric(c) && c != '-' && c != '_' }) {
			return badRequest("the URL: %s is not a host name; write an international one in its xn-- form", quoted(s))
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return badRequest("the URL: %s is neither a host name nor a complete address", quoted(s))
	}
	return nil
}

func checkHeaders(list []abi.Header) *abi.Error {
	if len(list) > maxHeaders {
		return badRequest("%d headers are more than %d", len(list), maxHeaders)
	}
	size := 0
	for _, h := range list {
		name := textproto.CanonicalMIMEHeaderKey(h.Name)
		size += len(h.Name) + len(h.Value)
		switch {
		case size > maxHeaderBytes:
			return badRequest("the headers have more than %d bytes", maxHeaderBytes)
		case !isToken(h.Name):
			return badRequest("the header name %s is not a token", quoted(h.Name))
		case strings.Contains(refusedHeaders, " "+name+" ") || strings.HasPrefix(name, "Proxy-"):
			return badRequest("the header %s is not available to modules", name).
				WithHint("The host sets the headers that frame a message; leave it out.")
		case strings.ContainsFunc(h.Value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			return badRequest("the value of the header %s holds control characters", name)
		}
	}
	return nil
}

// isToken tells whether s is a token of RFC 9110.
func isToken(s string) bool {
	return s != "" &&
		!strings.ContainsFunc(s, func(c rune) bool {
			return !isAlphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
		})
}

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func badRequest(format string, args ...any) *abi.Error {
	return abi.Errorf(abi.CodeHTTPBadRequest, format, args...)
}

func quoted(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strconv.QuoteToASCII(s)
}
