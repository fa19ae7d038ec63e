package guest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cruster/cruster/abi"
)

// Coroutines are goroutines of which exactly one runs at a time. The
// dispatcher takes the first of the ready queue, hands control over and waits
// until it comes back, because the coroutine waits for a promise or has ended.
// Whoever becomes runnable goes to the end of the queue. The order in which
// coroutines run is thus a function of the order of deliveries and of nothing
// else: not of the Go scheduler, not of time.
//
// A goroutine that the SDK did not start is outside of this order. It holds no
// turn, so its durable calls are refused: either another coroutine has the turn
// (current differs), or the coroutine whose context it borrowed is inside a
// durable call itself (busy).

// Coroutine is one line of control of a workflow.
type Coroutine struct {
	ex   *Execution
	id   int
	wake chan struct{}
	// busy is set during a durable call.
	busy atomic.Bool
	// waiting is what the coroutine waits for; nil while it runs.
	waiting *waiter
	// returned is set when its function has come to its end.
	returned bool
}

// spawn makes a coroutine that runs fn when its turn comes.
func (ex *Execution) spawn(fn func(*Coroutine)) {
	co := &Coroutine{ex: ex, id: ex.spawned, wake: make(chan struct{})}
	ex.spawned++
	ex.live[co.id] = co
	ex.ready = append(ex.ready, co)
	go co.run(fn)
}

func (co *Coroutine) run(fn func(*Coroutine)) {
	<-co.wake
	if co.ex.opts.Contain {
		defer co.contain()
		if !co.ex.closed.Load() {
			fn(co)
		}
		co.returned = true
		return
	}
	fn(co)
	co.end()
}

// end gives control back for good.
func (co *Coroutine) end() {
	delete(co.ex.live, co.id)
	co.ex.yield <- struct{}{}
}

// contain turns a panic or an exit of the goroutine into the outcome of the
// execution.
func (co *Coroutine) contain() {
	ex := co.ex
	if r := recover(); r != nil {
		ex.outcome = &abi.Outcome{Error: abi.Errorf(abi.CodeGuestTrap, "panic: %v\n\n%s", r, debug.Stack())}
	} else if !co.returned && !ex.closed.Load() {
		ex.outcome = &abi.Outcome{Error: abi.Errorf(abi.CodeGuestTrap, "a coroutine of the workflow ended itself with runtime.Goexit")}
	}
	co.end()
}

// dispatch runs coroutines until all of them wait or the workflow is over.
func (ex *Execution) dispatch() {
	for len(ex.ready) > 0 && ex.outcome == nil {
		co := ex.ready[0]
		ex.ready = ex.ready[1:]
		ex.current.Store(co)
		co.wake <- struct{}{}
		ex.takeBack(co)
		ex.current.Store(nil)
		if runtime.NumGoroutine() > ex.others+len(ex.live) {
			// Workflow code has started goroutines of its own. They come to rest
			// before anything else happens, instead of hanging over into a later
			// turn; one that makes a durable call is caught here and now.
			runtime.Gosched()
		}
	}
	if len(ex.ready) == 0 {
		ex.ready = nil // lets the array go that the queue has walked through
	}
}

// takeBack waits until the coroutine gives control back.
func (ex *Execution) takeBack(co *Coroutine) {
	if ex.opts.Stall <= 0 {
		// If the coroutine blocks on something of its own that nobody serves, no
		// goroutine is left to run and the Go runtime ends the module with "all
		// goroutines are asleep - deadlock!", which the host reports as such.
		<-ex.yield
		return
	}
	timer := time.NewTimer(ex.opts.Stall)
	defer timer.Stop()
	select {
	case <-ex.yield:
	case <-timer.C:
		stacks := make([]byte, 1<<16)
		stacks = stacks[:runtime.Stack(stacks, true)]
		ex.outcome = &abi.Outcome{Error: abi.Errorf(abi.CodeGuestDeadlock,
			"coroutine %d did not wait for a durable call for %v: it blocks on a channel or lock that nobody serves, or loops\n\n%s",
			co.id, ex.opts.Stall, stacks)}
	}
}

// enter begins a durable call; what names it for the message of a refusal.
func (co *Coroutine) enter(what string) {
	if co.ex.closed.Load() {
		runtime.Goexit()
	}
	if co.ex.current.Load() != co || !co.busy.CompareAndSwap(false, true) {
		panic(abi.Errorf(abi.CodeGuestGoroutine,
			"%s was called on the context of a coroutine that does not have the turn: start coroutines with cruster.Go, give each its own context, and do not use the go statement for durable calls", what))
	}
}

func (co *Coroutine) leave() { co.busy.Store(false) }

// park gives control to the dispatcher until somebody made co runnable again.
func (co *Coroutine) park(w *waiter) {
	co.waiting = w
	co.ex.yield <- struct{}{}
	<-co.wake
	co.waiting = nil
	if co.ex.closed.Load() {
		runtime.Goexit()
	}
}

// place is where a panic came from, as file:line, read inside the deferred
// function that recovered it.
func place() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !inRuntime(f.Function):
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

func inRuntime(function string) bool {
	return len(function) > 8 && function[:8] == "runtime."
}
