package cruster

import "github.com/cruster/cruster/abi"

// Map calls fn for each item, for at most n of them at the same time, and returns the results in
// the order of the items. The first error ends it: calls in flight are cancelled, and the error is
// returned together with the results so far. Map returns when all calls of fn have.
//
//	sizes, err := cruster.Map(ctx, pages, 10, Fetch.Call)
//
// For the outcome of each item, regardless of the others, see [MapSettled].
func Map[In, Out any](ctx Context, items []In, n int, fn func(Context, In) (Out, error)) ([]Out, error) {
	out := make([]Out, len(items))
	inner, cancel := WithCancel(ctx)
	defer cancel()
	var first error
	err := eachOf(inner, len(items), n, func(ctx Context, i int) bool {
		result, err := fn(ctx, items[i])
		if err == nil {
			out[i] = result
			return true
		}
		if first == nil {
			first = err
			cancel()
		}
		return false
	})
	if first == nil {
		first = err
	}
	return out, first
}

// Settled is the outcome of one item of [MapSettled].
type Settled[T any] struct {
	Value T
	Err   error
}

// MapSettled calls fn for each item, for at most n of them at the same time, and returns the
// outcome of each. Items for which fn was not called because ctx ended have ctx's error: so with a
// deadline you get the results that were there in time.
//
//	ctx, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Minute))
//	defer cancel()
//	outcomes := cruster.MapSettled(ctx, pages, 10, Fetch.Call)
func MapSettled[In, Out any](ctx Context, items []In, n int, fn func(Context, In) (Out, error)) []Settled[Out] {
	out := make([]Settled[Out], len(items))
	begun := make([]bool, len(items))
	err := eachOf(ctx, len(items), n, func(ctx Context, i int) bool {
		begun[i] = true
		out[i].Value, out[i].Err = fn(ctx, items[i])
		return true
	})
	for i := range out {
		if !begun[i] {
			out[i].Err = err
		}
	}
	return out
}

// eachOf calls fn for the numbers below length, in order and at most n at a time, for as long as it
// reports true and ctx has not ended. It returns when all calls have, and why ctx ended if it did
// before the last began.
func eachOf(ctx Context, length, n int, fn func(ctx Context, i int) bool) error {
	if n < 1 {
		panic(abi.Errorf(abi.CodeWrongContext, "%d at the same time are none: nothing would ever be done", n))
	}
	next := 0
	var ended error
	work := func(ctx Context) error {
		for next < length {
			if err := Err(ctx); err != nil {
				ended = err
				return nil
			}
			i := next
			next++
			if !fn(ctx, i) {
				return nil
			}
		}
		return nil
	}
	workers := make([]Future[None], min(n, length))
	for i := range workers {
		workers[i] = Go(ctx, work)
	}
	for _, w := range workers {
		if _, err := w.Await(Shield(ctx)); err != nil {
			ended = err
		}
	}
	return ended
}
