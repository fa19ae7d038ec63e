package guest

import (
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// thread is the goroutine of a coroutine inside a module.
//
// A turn hands control over twice: to a coroutine, and back. Through channels each of the two goes through Go's
// scheduler, which took half the time of a short turn. The threads of package iter switch from one goroutine to the
// other directly, so they are used where nothing else is wanted of the switch: a test wants a limit of time, too, and
// uses channels.
//
// When its coroutine has ended, a thread can run another. One is kept for that. WarmUp leaves one behind, so that a
// workflow begins with a stack that has grown already.
type thread struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	co    *Coroutine
	fn    func(*Coroutine) // nil if the thread has nothing to run
}

var (
	// spareThread is the kept thread, if there is one.
	spareThread atomic.Pointer[thread]
	// threads counts them.
	threads atomic.Int64
)

// newThread takes the spare thread, or makes one, for a coroutine.
func newThread(co *Coroutine, fn func(*Coroutine)) *thread {
	t := spareThread.Swap(nil)
	if t == nil {
		t = &thread{}
		t.next, t.stop = iter.Pull(t.run)
		threads.Add(1)
	}
	t.co, t.fn = co, fn
	return t
}

// resume runs the coroutine until it yields or ends.
func (t *thread) resume() {
	t.next()
	if t.fn == nil && !spareThread.CompareAndSwap(nil, t) {
		t.stop()
		threads.Add(-1)
	}
}

// run runs one coroutine after the other.
func (t *thread) run(yield func(struct{}) bool) {
	returned := false
	defer func() {
		if !returned {
			crash(recover())
		}
	}()
	t.yield = yield
	for more := true; more; more = yield(struct{}{}) {
		t.fn(t.co)
		delete(t.co.ex.live, t.co.id)
		t.co, t.fn = nil, nil
	}
	returned = true
}

// crash ends the module as Go does after a panic that nothing recovered. Package iter would carry the panic over to the
// dispatcher, and the stack would be lost. It is called by a deferred function, while the stack of the panic is still
// there.
func crash(reason any) {
	if reason == nil {
		select {} // runtime.Goexit: nothing gives control back, which is a deadlock
	}
	fmt.Fprintf(
		os.Stderr, "panic: %s\n\n%s", strings.ReplaceAll(fmt.Sprint(reason), "\n", "\n\t"),
		panicStack(string(debug.Stack())),
	)
	os.Exit(2)
}

// panicStack is the stack of a panic, as Go prints it: without the functions that were called since.
func panicStack(stack string) string {
	head, frames, _ := strings.Cut(stack, "\n")
	_, rest, found := strings.Cut("\n"+frames, "\npanic(")
	if !found {
		return stack
	}
	for range 2 { // the rest of the line, and the line that says where it is
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return head + "\n" + rest
}
