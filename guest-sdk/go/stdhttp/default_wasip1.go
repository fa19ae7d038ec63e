package stdhttp

import (
	"context"

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
