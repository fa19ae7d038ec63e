package cruster

import (
	"context"
	"sync"
	"time"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// attemptContext is the context.Context of an attempt, by which packages of the SDK find the
// capabilities of the attempt.
//
// It is made for every attempt, and hardly one waits for its end: so the timer that ends it is made when someone does.
// In a module a timer costs more than a short activity, since the scheduler looks at it, and at the host's clock,
// whenever it is at work.
type attemptContext struct {
	deadline time.Time // zero if there is none
	of       any       // the context that the code was given
	keep     guest.Keep

	mu     sync.Mutex
	over   bool               // guarded by mu; the attempt is
	waited context.Context    // guarded by mu; closed at the end of the attempt, nil as long as no one waits for it
	cancel context.CancelFunc // guarded by mu; of waited
}

// newAttemptContext is the context of an attempt that ends at a time in Unix nanoseconds; 0 says
// that it has none.
func newAttemptContext(of any, deadline int64) *attemptContext {
	noteRunning(of)
	c := &attemptContext{of: of}
	if deadline > 0 {
		c.deadline = time.Unix(0, deadline)
	}
	return c
}

// end marks the attempt as ended.
func (c *attemptContext) end() {
	c.keep.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.waited != nil {
		c.cancel()
	}
}

// Deadline implements context.Context.
func (c *attemptContext) Deadline() (deadline time.Time, ok bool) {
	return c.deadline, !c.deadline.IsZero()
}

// Done implements context.Context.
func (c *attemptContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waitedLocked().Done()
}

// waitedLocked makes the channel that closes with the attempt, unless it is there.
func (c *attemptContext) waitedLocked() context.Context {
	switch {
	case c.waited != nil:
	case c.over:
		c.waited, c.cancel = context.WithCancel(context.Background())
		c.cancel()
	case c.deadline.IsZero():
		c.waited, c.cancel = context.WithCancel(context.Background())
	default:
		c.waited, c.cancel = context.WithDeadline(context.Background(), c.deadline)
	}
	return c.waited
}

// Err implements context.Context. Once it has returned an error, it returns the same error again.
func (c *attemptContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch isLate := !c.deadline.IsZero() && !time.Now().Before(c.deadline); {
	case c.waited != nil, c.over, isLate:
		return c.waitedLocked().Err()
	default:
		return nil
	}
}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any {
	switch key.(type) {
	case guest.Within:
		return c.of
	case guest.Kept:
		return &c.keep
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		return nil
	}
	return c.waited.Value(key) // by which contexts that are derived from this one end with it
}
