package cruster

import (
	"context"

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

func newAttemptContext(of any) *attemptContext {
	noteRunning(of)
	ctx, cancel := context.WithCancel(context.Background())
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
