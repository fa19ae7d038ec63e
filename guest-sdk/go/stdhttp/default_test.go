package stdhttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/guest-sdk/go/stdhttp"
)

// get is how a library calls that is given neither a client nor a context.
func get(url string) (string, error) {
	res, err := http.Get(url) //nolint:noctx // see above
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// started calls fn n goroutines away.
func started(n int, fn func()) {
	if n == 0 {
		fn()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		started(n-1, fn)
	}()
	<-done
}

// TestDefaultTransport: calls of activities go to the kit, calls of the test to the network.
func TestDefaultTransport(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, "the network")
	}))
	defer server.Close()
	for _, url := range []string{"http://example.com/", "https://example.com/", server.URL} {
		for away := range 3 {
			err := inActivity(t, func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
				return cruster.HTTPResponse{Status: 200, Body: []byte("the kit: " + r.URL)}, nil
			}, func(*cruster.ActivityContext) error {
				var got string
				var err error
				started(away, func() { got, err = get(url) })
				require.Equal(t, "the kit: "+url, got)
				return err
			})
			require.NoError(t, err)
		}
	}
	err := inActivity(t, nil, func(*cruster.ActivityContext) error {
		_, err := get(server.URL)
		return err
	})
	require.ErrorContains(t, err, "uses HTTP, which the test does not provide")
	require.Zero(t, reached.Load())

	got, err := get(server.URL)
	require.NoError(t, err)
	require.Equal(t, "the network", got)

	for away := range 3 {
		err = inActivity(t, func(cruster.HTTPRequest) (res cruster.HTTPResponse, err error) {
			started(away, func() {
				var got string
				got, err = get(server.URL)
				res = cruster.HTTPResponse{Status: 200, Body: []byte(got)}
			})
			return res, err
		}, func(*cruster.ActivityContext) error {
			got, err := get("http://example.com/")
			require.Equal(t, "the network", got, "handlers of the test use it")
			return err
		})
		require.NoError(t, err)
	}
}

var getting = cruster.NewWorkflow("stdhttpGetting", func(_ cruster.Context, url string) (string, error) {
	var got string
	var err error
	done := make(chan struct{})
	go func() {
		go func() { // whose parent has ended
			defer close(done)
			got, err = get(url)
		}()
	}()
	<-done
	return got, err
})

// TestDefaultTransportInAWorkflow: a workflow has no network, as on a host.
func TestDefaultTransportInAWorkflow(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it was reached")
	}))
	defer server.Close()
	_, err := crustertest.Run(t, getting, server.URL)
	require.ErrorContains(t, err, string(abi.CodeWrongContext))
}

// TestLateAnswers: a call that has a time limit and does not keep it fails as libraries expect, also if the host is the
// first to know.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(cruster.HTTPRequest) (cruster.HTTPResponse, error){
		"the kit": func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			<-time.After(2 * r.Timeout)
			return cruster.HTTPResponse{Status: 200}, nil
		},
		"the host": func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			<-time.After(r.Timeout - r.Timeout/20)
			return cruster.HTTPResponse{}, errors.New("no complete answer within the time allowed")
		},
	} {
		err := inActivity(t, handle, func(ctx *cruster.ActivityContext) error {
			call, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(call, http.MethodGet, "http://example.com/", nil)
			require.NoError(t, err)
			res, err := stdhttp.Client(ctx).Do(req)
			if err == nil {
				_ = res.Body.Close()
			}
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			var failed net.Error
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.Timeout(), name)
			return nil
		})
		require.NoError(t, err)
	}
}

// TestDefaultTransportAfterTheAttempt: goroutines left by an activity do not reach the network
// either.
func TestDefaultTransportAfterTheAttempt(t *testing.T) {
	t.Parallel()
	over, done := make(chan struct{}), make(chan error)
	require.NoError(t, inActivity(t, nil, func(*cruster.ActivityContext) error {
		go func() {
			<-over
			_, err := get("http://localhost:1/")
			done <- err
		}()
		return nil
	}))
	close(over)
	require.ErrorContains(t, <-done, string(abi.CodeWrongContext))
}

// TestQuietTransport: net/http has nothing to say about a transport that was taken over.
func TestQuietTransport(t *testing.T) { //nolint:paralleltest // it has the log of the process
	var lines bytes.Buffer
	before := log.Writer()
	log.SetOutput(&lines)
	defer log.SetOutput(before)
	_, err := get("http://localhost:1/")
	require.Error(t, err)
	require.Empty(t, lines.String())
}

// TestHandlerPanics: the activity crashes, and the line is the handler's.
func TestHandlerPanics(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(
		t,
		probing,
		0,
		crustertest.HandleHTTP(func(cruster.HTTPRequest) (cruster.HTTPResponse, error) { panic("kaboom") }),
		crustertest.Stub(probe, func(ctx *cruster.ActivityContext, _ int) (string, error) {
			_, err := ctx.HTTP().Get("http://example.com/")
			return "", err
		}),
	)
	require.ErrorContains(t, err, "kaboom (in ")
	require.ErrorContains(t, err, "stdhttp/default_test.go:")
}
