//go:build !wasip1

package stdhttp

import (
	"context"
	"net/http"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/defaulthttp"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// In a test, calls of activities go to the kit as they go to the host in a module, and calls of
// workflows are refused. Calls of the test itself use the network.
func init() { guest.WithKit(func() { defaulthttp.AnswerInTest(inTest{}) }) }

// inTest makes the calls of attempts.
type inTest struct{}

// RoundTrip implements http.RoundTripper.
func (inTest) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, inside := runningHere(req.Context()); !inside {
		return nil, http.ErrSkipAltProtocol
	}
	return transport{}.RoundTrip(req)
}

// runningHere is the context of the attempt that a call without a transport of its own is of.
func runningHere(ctx context.Context) (of any, inside bool) {
	if of := ctx.Value(guest.Within{}); of != nil {
		return of, true
	}
	return guest.RunningHere()
}

// do makes a call. A test has threads enough for the calls of several goroutines.
func do(_ any, by *cruster.HTTPClient, r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
	return by.Do(r)
}
