package cruster

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Sleep waits for d, for seconds or for months. A sleeping workflow needs no memory. If the host is down when the time
// is up, it wakes the workflow once it is back.
func Sleep(ctx Context, d time.Duration) error {
	_, err := Timer(ctx, d).Await(ctx)
	return err
}

// SleepUntil waits until t.
func SleepUntil(ctx Context, t time.Time) error {
	return Sleep(ctx, t.Sub(Now(ctx)))
}

// Timer is a future that is done once d has passed.
func Timer(ctx Context, d time.Duration) Future[None] {
	return Future[None]{p: ctx.sleep(d)}
}

func (ctx Context) sleep(d time.Duration) *guest.Promise {
	return ctx.scope.Issue(&opSleep, guest.Label{Kind: "Sleep"}, guest.EncodeBody(abi.Sleep{Duration: int64(d)}))
}
