package guest

import (
	"runtime"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
)

// Coroutine is one thread of control of a workflow.
//
// Coroutines are goroutines; exactly one of them runs at a time. The dispatcher takes the first
// coroutine of the ready queue, hands control to it and waits until the coroutine gives control
// back, because it waits for a promise or has ended. A coroutine that becomes runnable goes to the
// end of the queue. So the order in which coroutines run depends only on the order of deliveries,
// not on the Go scheduler or on time.
//
// A goroutine that the SDK did not start is not part of this order, so its durable calls are refused. There are two
// cases: another coroutine has control (current differs), or the coroutine whose context the goroutine uses is itself
// inside a durable call (busy).
type Coroutine struct {
	ex *Execution
	id int
	// thread runs it inside a module; elsewhere it is nil, and control is handed over through wake.
	thread *thread
	wake   chan struct{}
	// busy is set during a durable call.
	busy atomic.Bool
	// waiting is the coroutine's wait, or nil while it runs.
	waiting *waiter
	wait    waiter
	// returned is set when its function has returned.
	returned bool
	// began is the stack of the call that started it, and at where it waits: see waits. If no call
	// did, serves names its purpose.
	began  [8]uintptr
	serves Label
	at     string
}

// spawn makes a coroutine that runs fn when its turn comes.
func (ex *Execution) spawn(fn func(*Coroutine)) *Coroutine {
	co := &Coroutine{ex: ex, id: ex.spawned}
	ex.spawned++
	ex.live[co.id] = co
	ex.ready.push(co)
	if ex.opts == (Options{}) {
		co.thread = newThread(co, fn)
		return co
	}
	co.wake = make(chan struct{})
	threads.Add(1)
	go co.run(fn)
	return co
}

func (co *Coroutine) run(fn func(*Coroutine)) {
	<-co.wake
	defer co.recoverPanic()
	if !co.ex.closed.Load() {
		fn(co)
	}
	co.returned = true
}

// end gives control back and never takes it again.
func (co *Coroutine) end() {
	delete(co.ex.live, co.id)
	threads.Add(-1)
	co.ex.yield <- struct{}{}
}

// recoverPanic turns a panic or an exit of the goroutine into the outcome of the execution.
func (co *Coroutine) recoverPanic() {
	ex := co.ex
	if r := recover(); r != nil {
		ex.outcome = ex.panicked(r)
	} else if !co.returned && !ex.closed.Load() {
		ex.outcome = &abi.Outcome{
			Error: abi.Errorf(abi.CodeGuestTrap, "a coroutine of the workflow ended itself with runtime.Goexit"),
		}
	}
	co.end()
}

// dispatch runs coroutines until all of them wait or the workflow has ended.
func (ex *Execution) dispatch() {
	for !ex.ready.empty() && ex.outcome == nil {
		co := ex.ready.pop()
		ex.current.Store(co)
		ex.handOver(co)
		ex.current.Store(nil)
		if ex.conditions != nil {
			ex.checkConditions()
		}
		if otherGoroutines() > ex.goroutinesBefore {
			// Workflow code has started goroutines with the go statement. Let them run until they block, instead of
			// going on in a later turn. A goroutine that makes a durable call is refused now.
			runtime.Gosched()
		}
	}
}

// otherGoroutines counts the goroutines that run no coroutines.
func otherGoroutines() int { return runtime.NumGoroutine() - int(threads.Load()) }

// handOver gives control to a coroutine and waits until it gives control back.
func (ex *Execution) handOver(co *Coroutine) {
	if co.thread != nil {
		// If the coroutine blocks on a channel or lock that is never released, all goroutines are blocked. The Go
		// runtime then ends the module with "all goroutines are asleep - deadlock!", which the host reports as a
		// deadlock.
		co.thread.resume()
		return
	}
	co.wake <- struct{}{}
	ex.awaitYield(co)
}

// beginCall begins a durable call; the argument what names it in the message of a refusal.
func (co *Coroutine) beginCall(what Label) {
	if co.ex.closed.Load() {
		runtime.Goexit()
	}
	if co.ex.current.Load() != co || !co.busy.CompareAndSwap(false, true) {
		panic(abi.Errorf(abi.CodeGuestGoroutine,
			"%s was called on the context of a coroutine that is not running: start coroutines with cruster.Go, "+
				"use the context that each is given, and make no durable calls in goroutines of the go "+
				"statement", what))
	}
}

func (co *Coroutine) endCall() { co.busy.Store(false) }

// park gives control to the dispatcher and waits until co can run again.
func (co *Coroutine) park(w *waiter) {
	co.waiting = w
	co.giveBack()
	for co.ex.locating {
		co.locate()
		co.giveBack()
	}
	co.waiting = nil
	if co.ex.closed.Load() {
		runtime.Goexit()
	}
}

// giveBack gives control to the dispatcher until it comes back.
func (co *Coroutine) giveBack() {
	if co.thread != nil {
		co.thread.yield(struct{}{})
		return
	}
	co.ex.yield <- struct{}{}
	<-co.wake
}
