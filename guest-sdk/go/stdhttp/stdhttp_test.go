package stdhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/guest-sdk/go/stdhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var probe = cruster.NewActivity("probe", func(*cruster.ActivityContext, int) (string, error) { return "", nil })

var probing = cruster.NewWorkflow("Probing", func(ctx cruster.Context, _ int) (string, error) {
	return probe.Call(ctx, 0)
})

// inActivity runs fn as an activity, with a server.
func inActivity(
	t *testing.T, serve func(cruster.HTTPRequest) (cruster.HTTPResponse, error),
	fn func(ctx *cruster.ActivityContext) error,
) error {
	t.Helper()
	stub := crustertest.Stub(probe, func(ctx *cruster.ActivityContext, _ int) (string, error) { return "", fn(ctx) })
	_, err := crustertest.Run(t, probing, 0, crustertest.HandleHTTP(serve), stub)
	return err
}

func TestClient(t *testing.T) {
	t.Parallel()
	var asked cruster.HTTPRequest
	err := inActivity(t, func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
		asked = r
		return cruster.HTTPResponse{
			Status: 201, Body: []byte("made"), Headers: []cruster.Header{{Name: "x-id", Value: "7"}},
		}, nil
	}, func(ctx *cruster.ActivityContext) error {
		// As a library derives contexts.
		within, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		req, err := http.NewRequestWithContext(
			within, http.MethodPut, "https://ada:secret@example.com/things?n=1", strings.NewReader("a thing"),
		)
		require.NoError(t, err)
		req.Header.Add("X-B", "2")
		req.Header.Add("X-A", "1")
		req.Header.Add("X-B", "3")
		req.Header.Set("Connection", "close")
		res, err := stdhttp.Client(within).Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, "201 Created", res.Status)
		require.Equal(t, "7", res.Header.Get("X-Id"))
		require.Equal(t, "made", string(body))
		require.EqualValues(t, 4, res.ContentLength)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "PUT", asked.Method)
	require.Equal(
		t, "https://example.com/things?n=1", asked.URL, "the password is in a header, where the host takes it",
	)
	require.Equal(t, "a thing", string(asked.Body))
	require.Equal(t, []cruster.Header{
		{Name: "Authorization", Value: "Basic YWRhOnNlY3JldA=="},
		{Name: "X-A", Value: "1"},
		{Name: "X-B", Value: "2"},
		{Name: "X-B", Value: "3"},
	}, asked.Headers)
	require.Positive(t, asked.Timeout)
	require.LessOrEqual(t, asked.Timeout, time.Minute, "the attempt is over by then")
}

// TestRedirects: a client of net/http follows them, each as a call of its own.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var asked []string
	err := inActivity(t, func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
		asked = append(asked, r.Method+" "+r.URL)
		if len(asked) == 1 {
			return cruster.HTTPResponse{
				Status: 303, Headers: []cruster.Header{{Name: "Location", Value: "/made/7"}},
			}, nil
		}
		return cruster.HTTPResponse{Status: 200}, nil
	}, func(ctx *cruster.ActivityContext) error {
		res, err := stdhttp.Client(ctx).Post("https://example.com/things", "text/plain", strings.NewReader("x"))
		require.NoError(t, err)
		return res.Body.Close()
	})
	require.NoError(t, err)
	require.Equal(t, []string{"POST https://example.com/things", "GET https://example.com/made/7"}, asked)
}

// TestErrors: an error of the host is one also behind a library, with its code and hint.
func TestErrors(t *testing.T) {
	t.Parallel()
	err := inActivity(t, func(cruster.HTTPRequest) (cruster.HTTPResponse, error) {
		return cruster.HTTPResponse{}, errors.New("no route")
	}, func(ctx *cruster.ActivityContext) error {
		res, err := stdhttp.Client(ctx).Get("https://example.com/")
		if err == nil {
			return res.Body.Close()
		}
		return err
	})
	require.ErrorContains(t, err, string(abi.CodeHTTPFailed))

	for name, ask := range map[string]struct {
		ctx  func(ctx context.Context) (context.Context, context.CancelFunc)
		host string
		want string
	}{
		"a context of no activity": {ctx: func(context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(context.Background())
		}, want: "CR-4002"},
		"a context that is over": {ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, want: "context canceled"},
		"a deadline that has passed": {ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Unix(1, 0))
		}, want: "context deadline exceeded"},
		"another Host": {ctx: context.WithCancel, host: "other.example.com", want: "CR-3205"},
	} {
		err := inActivity(t, func(cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			return cruster.HTTPResponse{}, errors.New("it was called")
		}, func(ctx *cruster.ActivityContext) error {
			within, cancel := ask.ctx(ctx)
			defer cancel()
			req, err := http.NewRequestWithContext(within, http.MethodGet, "https://example.com/", nil)
			require.NoError(t, err)
			req.Host = ask.host
			res, err := stdhttp.Client(within).Do(req)
			if err == nil {
				return res.Body.Close()
			}
			return err
		})
		require.ErrorContains(t, err, ask.want, name)
	}
}

// TestOverWithTheAttempt: calls of a library after the end of its activity have no effect.
func TestOverWithTheAttempt(t *testing.T) {
	t.Parallel()
	var late context.Context
	require.NoError(t, inActivity(t, nil, func(ctx *cruster.ActivityContext) error {
		require.NoError(t, ctx.Err())
		late = ctx
		return nil
	}))
	require.ErrorIs(t, late.Err(), context.Canceled)
}
