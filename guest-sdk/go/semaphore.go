package cruster

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Semaphore bounds the concurrent work of coroutines of one execution. Coroutines that wait for it
// get it in the order in which they came. It is part of the workflow's own state, which a replay
// restores: make it in the function of the workflow, not in a variable of the package.
//
//	slots := cruster.NewSemaphore(10)
//	for _, page := range pages {
//		if err := slots.Acquire(ctx, 1); err != nil {
//			return err
//		}
//		cruster.Go(ctx, func(ctx cruster.Context) error {
//			defer slots.Release(1)
//			_, err := Fetch.Call(ctx, page)
//			return err
//		})
//	}
//
// To do the same thing for many items, [Map] is simpler.
type Semaphore struct {
	line guest.Line
	size int
	used int
}

// NewSemaphore makes a semaphore with room for n.
func NewSemaphore(n int) *Semaphore { return &Semaphore{size: n} }

// Acquire waits until there is room for n more, and takes it. If it returns an error, it has taken
// nothing.
func (s *Semaphore) Acquire(ctx Context, n int) error {
	if n < 0 || n > s.size {
		return abi.Errorf(abi.CodeWrongContext, "a semaphore of %d cannot give %d", s.size, n)
	}
	return s.line.Stand(ctx.scope, "Acquire", func() bool { return s.take(n) })
}

// TryAcquire takes room for n if it is there and no coroutine waits for it.
func (s *Semaphore) TryAcquire(n int) bool { return n >= 0 && s.line.Empty() && s.take(n) }

func (s *Semaphore) take(n int) bool {
	if n > s.size-s.used {
		return false
	}
	s.used += n
	return true
}

// Release gives room for n back. It panics if that is more than was taken.
func (s *Semaphore) Release(n int) {
	s.line.Change("Release", func() {
		if n < 0 || n > s.used {
			panic(abi.Errorf(
				abi.CodeWrongContext, "%d were given back to a semaphore of which %d are taken", n, s.used,
			))
		}
		s.used -= n
	})
}
