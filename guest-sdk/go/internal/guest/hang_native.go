//go:build !wasip1

package guest

import (
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// awaitYield waits until the coroutine gives control back, but no longer than the limit.
func (ex *Execution) awaitYield(co *Coroutine) {
	if ex.opts.StallLimit <= 0 {
		<-ex.yield
		return
	}
	timer := time.NewTimer(ex.opts.StallLimit)
	defer timer.Stop()
	select {
	case <-ex.yield:
	case <-timer.C:
		ex.stalled = co
		ex.outcome = &abi.Outcome{
			Error: abi.Errorf(
				abi.CodeGuestDeadlock, "%s%s", abi.CodeGuestDeadlock.Info().Title, stacks.WhoWaits(beside()),
			),
		}
	}
}

// beside are the other goroutines of the bubble of testing/synctest that this one is in. Outside of
// one they cannot be told from other goroutines, so they are all that run coroutines.
func beside() []stacks.Goroutine {
	all := stacks.Take()
	return slices.DeleteFunc(all[1:], func(g stacks.Goroutine) bool {
		return g.Bubble != all[0].Bubble || g.Bubble == "" && !g.In("/internal/guest.(*Coroutine).run")
	})
}

// panicked is the outcome of a workflow whose code panics, while the stack is still the panic's.
// Its message is the host's for a module that panics. A host that wants the whole stack is given
// it.
func (ex *Execution) panicked(value any) *abi.Outcome {
	problem, stack := Crash(abi.CodeGuestTrap, value)
	if h, ok := ex.host.(interface{ Crashed(stack string) }); ok {
		h.Crashed(stack)
	}
	return &abi.Outcome{Error: problem}
}
