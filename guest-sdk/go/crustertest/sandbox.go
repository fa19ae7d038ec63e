package crustertest

import (
	"net"
	"net/http"

	"github.com/cruster/cruster/guest-sdk/go/internal/defaulthttp"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// A test has no sandbox. Of what a host refuses for want of one, the calls of http.DefaultTransport can be told: those of
// workflows, activities and entities fail as on a host, unless the module imports stdhttp, by which they would work there. Those
// of the test itself, of its stubs and handlers have the network.
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
