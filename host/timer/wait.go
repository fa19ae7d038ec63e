package timer

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
)

// Wait waits until d has passed, or until ctx ends.
func Wait(ctx context.Context, clock clockwork.Clock, d time.Duration) {
	t := clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.Chan():
	case <-ctx.Done():
	}
}
