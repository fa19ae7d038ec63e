package stdhttp

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Client makes calls for the activity, or the call of an entity, that ctx is of. It follows
// redirects, as clients of net/http do; each is a call that must be granted.
func Client(ctx context.Context) *http.Client { return &http.Client{Transport: Transport(ctx)} }

// Transport makes calls for the activity, or the call of an entity, that ctx is of.
func Transport(ctx context.Context) http.RoundTripper { return transport{of: ctx} }

// transport has the host make calls. The zero transport makes them for the attempt of a request's
// context.
type transport struct {
	of context.Context
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if req.Host != "" && req.Host != req.URL.Host {
		return nil, abi.Errorf(abi.CodeHTTPBadRequest, "the request asks %s for the host %q", req.URL.Host, req.Host).
			WithHint("Put the name of the server into the URL: the host of Cruster sends it as the header Host.")
	}
	attempt, client, err := t.caller(req.Context())
	if err != nil {
		return nil, err
	}
	timeout, err := timeLeft(req.Context())
	if err != nil {
		return nil, err
	}
	res, err := do(attempt, client, cruster.HTTPRequest{
		Method: req.Method, URL: urlOf(req), Headers: headersOf(req), Body: body, Timeout: timeout,
	})
	if over := req.Context().Err(); over != nil {
		return nil, over // looked for by libraries
	}
	if err != nil {
		if isLate(req.Context(), timeout, err) {
			return nil, context.DeadlineExceeded
		}
		return nil, err
	}
	return responseOf(req, res), nil
}

// isLate tells whether the host has given up a call at the deadline of its context, which it was handed: it may be the
// first to know.
func isLate(ctx context.Context, timeout time.Duration, err error) bool {
	deadline, has := ctx.Deadline()
	return has && abi.CodeOf(err) == abi.CodeHTTPFailed && time.Until(deadline) < timeout/10
}

// caller is the attempt of the call, and its transport function.
func (t transport) caller(ctx context.Context) (attempt any, by *cruster.HTTPClient, err error) {
	if t.of != nil {
		attempt = t.of.Value(guest.Within{})
	} else {
		attempt, _ = runningHere(ctx)
	}
	if calls, is := attempt.(interface{ HTTP() *cruster.HTTPClient }); is {
		return attempt, calls.HTTP(), nil
	}
	return nil, nil, abi.Errorf(
		abi.CodeWrongContext, "the context of the call is not that of an activity, or derived from it",
	).
		WithHint("Make the client with stdhttp.Client(ctx), where ctx is the *cruster.ActivityContext; make calls in " +
			"activities only.")
}

// readBody reads the body of a request, and closes it, as a RoundTripper must.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	if closed := req.Body.Close(); err == nil {
		err = closed
	}
	return body, err
}

// timeLeft returns the time left by the context; zero if it has no deadline.
func timeLeft(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	deadline, is := ctx.Deadline()
	if !is {
		return 0, nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return 0, context.DeadlineExceeded
	}
	return left, nil
}

// urlOf is the URL without the user and the password that net/http has made a header of.
func urlOf(req *http.Request) string {
	u := *req.URL
	u.User = nil
	return u.String()
}

// ofTheConnection are headers that say how a message is sent, which the host decides.
var ofTheConnection = map[string]bool{
	"Connection": true, "Content-Length": true, "Expect": true, "Host": true, "Keep-Alive": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true,
}

// headersOf are the headers of a request, in an order that is always the same.
func headersOf(req *http.Request) (all []cruster.Header) {
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		if ofTheConnection[http.CanonicalHeaderKey(name)] {
			continue
		}
		for _, value := range req.Header[name] {
			all = append(all, cruster.Header{Name: name, Value: value})
		}
	}
	return all
}

// responseOf is an answer as net/http has it.
func responseOf(req *http.Request, res cruster.HTTPResponse) *http.Response {
	header := make(http.Header, len(res.Headers))
	for _, h := range res.Headers {
		header.Add(h.Name, h.Value)
	}
	return &http.Response{
		Status:        strconv.Itoa(res.Status) + " " + http.StatusText(res.Status),
		StatusCode:    res.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(res.Body)),
		ContentLength: int64(len(res.Body)),
		Request:       req,
	}
}
