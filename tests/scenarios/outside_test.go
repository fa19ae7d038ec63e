package scenarios

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestDefaultTransport: a library that makes a client of its own works in a module that imports
// stdhttp, also if it hands on no context, and relies on the type of http.DefaultTransport.
func TestDefaultTransport(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("hello"))
	}))
	t.Cleanup(server.Close)
	e := harness.Engine(t, harness.Store(t, "sqlite"))
	harness.Push(t, e, "fetch", "tests/guests/fetch", func(r *host.PushRequest) {
		r.AllowHTTP = []string{strings.TrimPrefix(server.URL, "http://")}
	})
	require.Equal(t, "hello hello", harness.Execute[string](t, e, "fetch/Fetch", server.URL))
}

// TestGoroutinesFetchTogether: the server answers none of the requests before all have come.
func TestGoroutinesFetchTogether(t *testing.T) {
	t.Parallel()
	const n = 5
	var came sync.WaitGroup
	came.Add(n)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Done()
		here := make(chan struct{})
		go func() { came.Wait(); close(here) }()
		select {
		case <-here:
			_, _ = io.WriteString(w, "hello "+r.URL.Path)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	e := harness.Engine(t, harness.Store(t, "sqlite"))
	harness.Push(t, e, "fetch", "tests/guests/fetch", func(r *host.PushRequest) {
		r.AllowHTTP = []string{strings.TrimPrefix(server.URL, "http://")}
	})
	urls, want := []string{"http://refused.test/"}, []string{string(abi.CodeHTTPForbidden)}
	for i := range n {
		urls, want = append(urls, fmt.Sprint(server.URL, "/", i)), append(want, fmt.Sprint("hello /", i))
	}
	require.Equal(t, want, harness.Execute[[]string](t, e, "fetch/FetchAll", urls))
}

// TestOutside: a call that the sandbox of activities forbids fails with a code that says
// what to do instead.
func TestOutside(t *testing.T) {
	t.Parallel()
	e := harness.Engine(t, harness.Store(t, "sqlite"))
	harness.Push(t, e, "outside", "tests/guests/outside")
	for what, code := range map[string]abi.Code{
		"http by address":        abi.CodeNoSockets,
		"dial":                   abi.CodeNoSockets,
		"read a file":            abi.CodeNoFiles,
		"write a file":           abi.CodeNoFiles,
		"make a temporary file":  abi.CodeNoFiles,
		"run a program":          abi.CodeNoPrograms,
		"time zone":              abi.CodeNoZones,
		"an error of a business": abi.CodeWorkflowFailed,
		"an error of a service":  abi.CodeWorkflowFailed,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			row := harness.Wait(t, e, harness.Start(t, e, "outside/Try", what))
			require.Equal(t, journal.Failed, row.State)
			if code == abi.CodeWorkflowFailed {
				require.Contains(
					t, []string{"CR-2006: the shop is closed", "CR-2006: status 502: [Errno 111] Connection refused"},
					row.Error.Error(),
				)
				return
			}
			require.Contains(t, row.Error.Message, code, "by which the code and its advice are shown")
			row = harness.Wait(t, e, harness.Start(t, e, "outside/TryHere", what))
			require.Equal(t, journal.Failed, row.State, "%v", row.Error)
			require.Equal(t, code, row.Error.Code, "%v", row.Error)
			if code == abi.CodeNoZones {
				require.Contains(t, row.Error.Message, "a time zone cannot be loaded")
				require.Contains(t, row.Error.Hint, "time/tzdata")
			} else {
				require.Contains(t, row.Error.Hint, "in an activity", "advice for activities is of no use here")
			}
		})
	}
}
