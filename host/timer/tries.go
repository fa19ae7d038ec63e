package timer

import (
	"context"
	"iter"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	firstPause = 20 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Tries yields the number of a try, from 1 on, until ctx ends: for loops that try until something is decided. It waits
// before each try but the first, which is always made, twice as long each time.
func Tries(ctx context.Context, clock clockwork.Clock) iter.Seq[int] {
	return func(yield func(int) bool) {
		pause := firstPause
		for n := 1; (n == 1 || ctx.Err() == nil) && yield(n); n++ {
			Wait(ctx, clock, pause)
			pause = min(2*pause, maxPause)
		}
	}
}
