package crustertest

import (
	"sync/atomic"
	"time"

	"github.com/cruster/cruster/abi"
)

// gate is between the code in a bubble and its host. Code that is given up may go on all the same:
// when the gate is closed it gets no further, so that only the test changes the host's state.
type gate struct {
	call chan struct{}             // holds the call that is under way
	why  atomic.Pointer[abi.Error] // it is closed
	// quiet says that no call was under way when it was closed, or that the last one came back.
	quiet bool
}

func newGate() *gate { return &gate{call: make(chan struct{}, 1)} }

// enter lets a call in; leave is called when it comes back. The error says why the code was given up.
func (g *gate) enter() *abi.Error {
	g.call <- struct{}{}
	if why := g.why.Load(); why != nil {
		g.leave()
		return why
	}
	return nil
}

func (g *gate) leave() { <-g.call }

// close lets no more calls in. A call under way is waited for, but not for ever: it may hang in a key function.
func (g *gate) close(why *abi.Error) {
	g.why.Store(why)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case g.call <- struct{}{}:
		g.quiet = true
		g.leave()
	case <-timer.C:
	}
}
