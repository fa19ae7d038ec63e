package cruster

import (
	"slices"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Channel hands values from coroutine to coroutine of one execution, in order. A channel of Go
// would block the host; this one parks the workflow. Make it in the function of the workflow.
type Channel[T any] struct {
	senders, receivers guest.Line

	capacity int
	items    []*item[T]
	closed   bool
}

// item is a value that was sent and not received yet.
type item[T any] struct {
	value    T
	received bool
	handing  guest.Line // where its sender waits until it is received
}

// NewChannel makes a channel that keeps up to capacity values. With none, a send waits until its
// value is received.
func NewChannel[T any](capacity int) *Channel[T] { return &Channel[T]{capacity: max(capacity, 0)} }

// Send waits until there is room for a value, and puts it in. On a channel that is closed, also
// meanwhile, it returns [ErrClosed]. If it returns an error, the value is not received.
func (c *Channel[T]) Send(ctx Context, value T) error {
	sent := &item[T]{value: value}
	err := c.senders.Stand(ctx.scope, "Send", func() bool { return c.closed || c.put(sent) })
	switch {
	case err != nil:
		return err
	case !slices.Contains(c.items, sent) && !sent.received:
		return ErrClosed
	}
	c.receivers.Change("Send", func() {})
	if c.capacity > 0 || sent.received {
		return nil
	}
	return c.handOver(ctx, sent)
}

// put keeps a value if there is room for it. An unbuffered channel keeps the value being handed
// over.
func (c *Channel[T]) put(sent *item[T]) bool {
	if len(c.items) >= max(c.capacity, 1) {
		return false
	}
	c.items = append(c.items, sent)
	return true
}

// handOver waits until a value is received, and takes it back if the wait ends before.
func (c *Channel[T]) handOver(ctx Context, sent *item[T]) error {
	err := sent.handing.Stand(ctx.scope, "Send", func() bool { return sent.received || c.closed })
	if sent.received {
		return nil
	}
	if err == nil {
		err = ErrClosed
	}
	c.items = slices.DeleteFunc(c.items, func(o *item[T]) bool { return o == sent })
	c.senders.Change("Send", func() {})
	return err
}

// Receive waits for the next value. It is false if the channel is closed and has none left.
func (c *Channel[T]) Receive(ctx Context) (value T, ok bool, err error) {
	var got *item[T]
	err = c.receivers.Stand(ctx.scope, "Receive", func() bool {
		if len(c.items) > 0 {
			got, c.items = c.items[0], c.items[1:]
			got.received = true
		}
		return got != nil || c.closed
	})
	if err != nil || got == nil {
		return value, false, err
	}
	c.senders.Change("Receive", func() {})
	got.handing.Change("Receive", func() {})
	return got.value, true, nil
}

// Close says that no more is sent. Values that are kept can still be received. Closing a closed
// channel does nothing.
func (c *Channel[T]) Close() {
	c.closed = true
	lines := []*guest.Line{&c.receivers, &c.senders}
	for _, sent := range c.items {
		lines = append(lines, &sent.handing)
	}
	for _, line := range lines {
		line.Change("Close", func() {})
	}
}

// Len is how many values are kept.
func (c *Channel[T]) Len() int { return len(c.items) }
