package cruster

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Future is the result of something under way: an activity, a call, a
// deferred, a coroutine. Any number of coroutines may await it, each any number
// of times.
type Future[T any] struct {
	p *guest.Promise
}

// Await waits for the result. On an interrupt it returns [ErrInterrupted] and
// gives up what the future stands for, unless another coroutine still waits for
// it or ctx is shielded.
func (f Future[T]) Await(ctx Context) (T, error) {
	if _, err := ctx.scope.Await("Await", f.promise()); err != nil {
		var zero T
		return zero, err
	}
	return f.result()
}

// Done tells whether the result is known, without waiting.
func (f Future[T]) Done() bool { return f.promise().Settled() }

// Cancel says that nobody needs the result any more: the host stops what has
// not begun yet. Whoever awaits the future gets [ErrCanceled]. A coroutine
// cannot be cancelled from outside; for its future Cancel does nothing.
func (f Future[T]) Cancel(ctx Context) { ctx.scope.Cancel(f.promise()) }

func (f Future[T]) promise() *guest.Promise {
	if f.p == nil {
		panic(abi.Errorf(abi.CodeWrongContext, "an empty cruster.Future was used: it must come from an SDK function"))
	}
	return f.p
}

// result is the outcome of a settled promise as a T.
func (f Future[T]) result() (T, error) {
	raw, value, err := f.p.Result()
	var out T
	if err != nil {
		return out, err
	}
	if value != nil {
		return value.(T), nil
	}
	if raw == nil {
		return out, nil // a coroutine's nil interface value
	}
	if err := decodeResult(f.p.What(), raw, &out); err != nil {
		return out, err
	}
	f.p.Keep(out)
	return out, nil
}

func decodeResult(what string, raw []byte, v any) error {
	if err := abi.Unmarshal(raw, v); err != nil {
		return abi.Errorf(abi.CodeBadBody, "the result of %s does not fit: %v", what, err)
	}
	return nil
}

// None is the result of what yields nothing.
type None struct{}

// Go runs fn in a coroutine of its own. The coroutines of a workflow take
// turns, in an order that every replay repeats; one runs until it waits.
//
// The workflow is over when its function returns: await the coroutines whose
// work matters.
func Go(ctx Context, fn func(Context) error) Future[None] {
	return Async(ctx, func(ctx Context) (None, error) { return None{}, fn(ctx) })
}

// Async is [Go] for functions with a result.
func Async[T any](ctx Context, fn func(Context) (T, error)) Future[T] {
	return Future[T]{p: ctx.scope.Spawn(func(s guest.Scope) (any, error) {
		v, err := fn(Context{scope: s})
		return v, err
	})}
}
