package crustertest

import (
	"fmt"
	"net"
	"net/http"
	"runtime"

	"github.com/cruster/cruster/guest-sdk/go/internal/defaulthttp"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// A test has no sandbox. Of the calls that a host's sandbox refuses, it detects those of
// http.DefaultTransport: calls by workflows, activities and entities fail as on a host, unless the
// module imports stdhttp, with which they would work there. Calls by the test itself, its stubs,
// handlers and databases use the network.
func init() { defaulthttp.RefuseInTest(noNetwork{}) }

// noNetwork refuses the calls of code that runs in a module on a host.
type noNetwork struct{}

// RoundTrip implements http.RoundTripper.
func (noNetwork) RoundTrip(req *http.Request) (*http.Response, error) {
	if !guest.IsOfModule() {
		return nil, http.ErrSkipAltProtocol
	}
	if req.Body != nil {
		_ = req.Body.Close() // as a RoundTripper must
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: guest.ErrNoSockets}
}

// asTest calls code of the test for an attempt, on a goroutine of its own: it is not code of the
// attempt, and may use the network. If it ends its goroutine, as t.FailNow does, the attempt's
// goroutine ends as well.
func asTest(act func()) {
	done := make(chan string, 1) // how it panicked
	go func() {
		defer close(done)
		guest.AsTest(func() {
			defer func() {
				if p := recover(); p != nil {
					g, _ := stacks.Current()
					done <- fmt.Sprintf("%v%s", p, g.Where())
				}
			}()
			act()
			done <- ""
		})
	}()
	panicked, returned := <-done
	switch {
	case !returned:
		runtime.Goexit()
	case panicked != "":
		panic(panicked) // as the attempt
	}
}
