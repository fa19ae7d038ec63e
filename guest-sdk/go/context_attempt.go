package cruster

import (
	"context"
	"time"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// attemptContext is the context.Context of an attempt, by which packages of the SDK find what
// the attempt may do.
type attemptContext struct {
	context.Context
	cancel context.CancelFunc
	of     any // the context that the code was given
	keep   guest.Keep
}

// newAttemptContext is the context of an attempt that ends at a time in Unix nanoseconds; 0 says
// that it has none.
func newAttemptContext(of any, deadline int64) *attemptContext {
	noteRunning(of)
	ctx, cancel := context.WithCancel(context.Background())
	if deadline > 0 {
		cancel() // it has no children
		ctx, cancel = context.WithDeadline(context.Background(), time.Unix(0, deadline))
	}
	return &attemptContext{Context: ctx, cancel: cancel, of: of}
}

// end says that the attempt is over.
func (c *attemptContext) end() {
	c.keep.Close()
	c.cancel()
}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any {
	switch key.(type) {
	case guest.Within:
		return c.of
	case guest.Kept:
		return &c.keep
	}
	return c.Context.Value(key)
}
