package cruster

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Future is a result that may be pending: of an activity, a call, an operation, a deferred, a
// signal or a coroutine. Any number of coroutines may await it, each any number of times.
type Future[T any] struct {
	p *guest.Promise
}

// Await waits for the result. A result that is not a T does not end the wait: the host pauses the execution (CR-4014),
// so that no code runs because of it, and it can be moved to code that reads the result. If the execution is
// interrupted, Await returns [ErrInterrupted] and cancels the future, unless another coroutine still waits for it or
// ctx is shielded.
func (f Future[T]) Await(ctx Context) (T, error) {
	if _, err := ctx.scope.Await("Await", f.promise()); err != nil {
		var zero T
		return zero, err
	}
	return f.result()
}

// Done tells whether the result is known, without waiting.
func (f Future[T]) Done() bool { return f.promise().Settled() }

// Cancel tells the host that the result is no longer needed: work that has not begun yet does not begin. Coroutines
// that await the future get [ErrCanceled].
//
// The future of a coroutine is done when the coroutine has ended. Cancel asks it to end: its waits return
// [ErrCanceled], as on a context of [WithCancel]; await the future to wait for it.
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
	var zero T
	if err != nil {
		return zero, err
	}
	if value != nil {
		return value.(T), nil
	}
	if raw == nil {
		return zero, nil // a coroutine's nil interface value
	}
	if err := f.p.Misfit(raw); err != nil {
		return zero, f.p.Unreadable(err)
	}
	out, err := decode[T](raw)
	if err == nil {
		err = guest.Unrelated(out, raw)
	}
	if err != nil {
		return zero, f.p.Unreadable(err)
	}
	f.p.KeepDecoded(out)
	return out, nil
}

// None is the result of functions without a result.
type None struct{}

// Go runs fn in a new coroutine. The coroutines of a workflow take turns, in an order that every replay repeats; each
// runs until it waits.
//
// The workflow ends when its function returns: await the coroutines whose work matters.
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
