// Package hostfault keeps panics of the host to the work that they happened in. The host works on
// one execution, entity or schedule at a time, on a goroutine; a panic there says nothing about
// the others. It costs that one its work, and the process goes on.
//
// The package imports nothing of Cruster.
package hostfault

import (
	"fmt"
	"runtime/debug"
)

// Fault is a panic.
type Fault struct {
	// The beginning of its message.
	What string
	// Stack is where it happened.
	Stack []byte
}

// Error implements error.
func (f *Fault) Error() string { return "the host failed: " + f.What }

// Guard does a part of the work on one thing. It returns the fault if that panicked.
func Guard(work func()) (f *Fault) {
	defer func() {
		if p := recover(); p != nil {
			f = &Fault{What: fmt.Sprintf("panic: %.300v", p), Stack: debug.Stack()}
		}
	}()
	work()
	return nil
}

// Try is Guard of work that may fail. A panic is a *Fault.
func Try(work func() error) (err error) {
	if f := Guard(func() { err = work() }); f != nil {
		return f
	}
	return err
}
