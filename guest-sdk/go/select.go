package cruster

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// All waits for all futures and returns their results in the order of the arguments. If some
// failed, the error is the first in this order; the results of the other futures are still
// returned.
func All[T any](ctx Context, futures ...Future[T]) ([]T, error) {
	out := make([]T, len(futures))
	var first error
	for i, f := range futures {
		v, err := f.Await(ctx)
		if err != nil && first == nil {
			first = err
		}
		out[i] = v
	}
	return out, first
}

// First waits for the first future that has a result and returns its index with it. The others go on; see
// [Future.Cancel].
func First[T any](ctx Context, futures ...Future[T]) (int, T, error) {
	var zero T
	promises := make([]*guest.Promise, len(futures))
	for i, f := range futures {
		promises[i] = f.promise()
	}
	if len(promises) == 0 {
		return -1, zero, abi.Errorf(abi.CodeWrongContext, "First was called with no futures and would wait for ever")
	}
	i, err := ctx.scope.Await("First", promises...)
	if err != nil {
		return -1, zero, err
	}
	v, err := futures[i].result()
	return i, v, err
}

// Case is one of the things that [Select] waits for: [On] a future, or [After] some time.
type Case struct {
	begin func(Context) *guest.Promise
	// ownsOp says that the case issues its own op, which Select cancels if another case wins.
	ownsOp bool
	run    func()
}

// On waits for a future and runs fn with its result.
func On[T any](f Future[T], fn func(T, error)) Case {
	return Case{
		begin: func(Context) *guest.Promise { return f.promise() },
		run:   func() { fn(f.result()) },
	}
}

// After waits for some time and runs fn.
func After(d time.Duration, fn func()) Case {
	return Case{
		begin:  func(ctx Context) *guest.Promise { return ctx.sleep(d) },
		ownsOp: true,
		run:    fn,
	}
}

// Select waits for the first of its cases that is ready and runs its function. If several are ready, the first in the
// list wins. The futures of the other cases go on. The error is [ErrInterrupted] or nil.
func Select(ctx Context, cases ...Case) error {
	if len(cases) == 0 {
		return abi.Errorf(abi.CodeWrongContext, "Select was called with no cases and would wait for ever")
	}
	promises := make([]*guest.Promise, len(cases))
	for i, c := range cases {
		promises[i] = c.begin(ctx)
	}
	chosen, err := ctx.scope.Await("Select", promises...)
	for i, c := range cases {
		if c.ownsOp && i != chosen {
			ctx.scope.Cancel(promises[i])
		}
	}
	if err != nil {
		return err
	}
	if _, _, err := promises[chosen].Result(); err != nil && cases[chosen].ownsOp {
		return err
	}
	cases[chosen].run()
	return nil
}

// WithTimeout awaits a future for no longer than d, and returns [ErrTimeout] if it has no result by then. The future
// goes on; see [Future.Cancel].
func WithTimeout[T any](ctx Context, d time.Duration, f Future[T]) (T, error) {
	var value T
	var result error
	err := Select(ctx,
		On(f, func(v T, err error) { value, result = v, err }),
		After(d, func() { result = ErrTimeout }),
	)
	if err != nil {
		return value, err
	}
	return value, result
}
