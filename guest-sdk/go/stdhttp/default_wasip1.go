package stdhttp

import (
	"context"
	"runtime"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/defaulthttp"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// A module has no sockets that the transport of net/http could use.
func init() { defaulthttp.TakeOver(transport{}) }

// runningHere is the context of the attempt that a call without a transport of its own is of.
func runningHere(ctx context.Context) (of any, inside bool) {
	if of := ctx.Value(guest.Within{}); of != nil {
		return of, true
	}
	return guest.Running, true
}

var together = gatherer{yield: runtime.Gosched}

// do makes a call, together with the calls of other goroutines.
func do(attempt any, by *cruster.HTTPClient, r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
	return together.do(attempt, by, r)
}
