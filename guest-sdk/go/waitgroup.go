package cruster

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// WaitGroup waits for coroutines of one execution. The zero value is ready; make it in the
// function of the workflow.
//
//	var group cruster.WaitGroup
//	for _, item := range items {
//		group.Go(ctx, func(ctx cruster.Context) { ship(ctx, item) })
//	}
//	err := group.Wait(ctx)
type WaitGroup struct {
	line guest.Line
	n    int
}

// Go runs fn in a new coroutine that the group waits for.
func (g *WaitGroup) Go(ctx Context, fn func(Context)) {
	g.Add(1)
	Go(ctx, func(ctx Context) error {
		defer g.Done()
		fn(ctx)
		return nil
	})
}

// Add adds n, which may be negative, to the counter of the group.
func (g *WaitGroup) Add(n int) {
	g.line.Change("Add", func() {
		if g.n += n; g.n < 0 {
			panic(abi.Errorf(abi.CodeWrongContext, "more was done than a wait group waits for"))
		}
	})
}

// Done decrements the counter of the group.
func (g *WaitGroup) Done() { g.Add(-1) }

// Wait waits until all are done. The error says that the wait ended before; the coroutines go on.
func (g *WaitGroup) Wait(ctx Context) error {
	return g.line.Stand(ctx.scope, "Wait", func() bool { return g.n == 0 })
}
