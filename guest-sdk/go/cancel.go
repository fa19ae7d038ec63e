package cruster

import "time"

// CancelFunc cancels the context returned with it: see [WithCancel]. Calling it again does nothing.
type CancelFunc func()

// WithCancel returns a context for work that the workflow may give up. When cancel is called,
// activities, calls and timers that were begun on it are cancelled, waits on it return
// [ErrCanceled], and so does whatever is begun on it afterwards. It covers the contexts of
// coroutines started on it, and nothing begun on ctx itself.
//
//	searching, cancel := cruster.WithCancel(ctx)
//	defer cancel()
//	var found []cruster.Future[Offer]
//	for _, shop := range shops {
//		found = append(found, Ask.Go(searching, shop))
//	}
//	i, offer, err := cruster.First(ctx, found...) // the others are given up when the function returns
//
// A coroutine is not killed: it goes on with the error, and can clean up on [Shield] of its
// context. To wait until it has ended, await its future behind cancel. An interrupt of the
// execution ends waits on the context as on others, with [ErrInterrupted].
func WithCancel(ctx Context) (Context, CancelFunc) {
	inner := Context{scope: ctx.scope.Within()}
	return inner, func() { inner.scope.End("cancel", ErrCanceled) }
}

// WithDeadline is [WithCancel] for work that has to be done by a time. After that, at once if the
// time has passed, waits on the context return [ErrTimeout]. Call cancel when the work is done: the timer ends with it.
//
//	ctx, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Minute))
//	defer cancel()
//
// For one future [WithTimeout] is simpler.
func WithDeadline(ctx Context, at time.Time) (Context, CancelFunc) {
	inner, cancel := WithCancel(ctx)
	if !at.After(Now(ctx)) {
		inner.scope.End("WithDeadline", ErrTimeout)
		return inner, cancel
	}
	inner.scope.EndWith(inner.sleep(at.Sub(Now(ctx))), ErrTimeout)
	return inner, cancel
}

// Err is why waits on ctx end: [ErrInterrupted], [ErrCanceled] or [ErrTimeout]; nil if they do not.
func Err(ctx Context) error { return ctx.scope.Ended() }
