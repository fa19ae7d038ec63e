package guest

import (
	"slices"

	"github.com/cruster/cruster/abi"
)

// Promise is something that coroutines can wait for: the outcome of an op or the end of a coroutine.
type Promise struct {
	ex   *Execution
	what Label
	// op is the number of the op that settles the promise; 0 for a coroutine.
	op      uint32
	settled bool
	// signal says that the next signal of a name settles it: see signalQueue.
	signal bool
	raw    []byte
	value  any
	err    error
	// region is the region its op was issued in; nil if it is none of the workflow's own.
	region *Region
	// runs is the region of a coroutine; nil for others.
	runs *Region
	// coroutine is the number of the coroutine.
	coroutine int
	waiters   []*waiter
	// firstWaiter is room for the first of the waiters: most promises have no other.
	firstWaiter [1]*waiter
	// misfit, if set, tells why a value must not be decoded.
	misfit func(raw []byte) error
	// onSettle, if set, runs when the promise is settled, before its waiters.
	onSettle func()
}

// Label names something for messages: "activity reserve". The words are put together where there is a message to write.
type Label struct{ Kind, Name string }

// String is the label as it is read.
func (l Label) String() string {
	if l.Name == "" {
		return l.Kind
	}
	return l.Kind + " " + l.Name
}

// What names the promise for messages: `activity reserve`.
func (p *Promise) What() string { return p.what.String() }

// Settled tells whether the outcome is known.
func (p *Promise) Settled() bool { return p.settled || p.signal && p.takeKept() }

// Result is the outcome: the msgpack value of an op or the Go value of a coroutine, or an error.
func (p *Promise) Result() (raw []byte, value any, err error) { return p.raw, p.value, p.err }

// KeepDecoded replaces the msgpack value by the decoded Go value, so that it is decoded only once.
func (p *Promise) KeepDecoded(value any) { p.raw, p.value = nil, value }

// Misfit tells why the msgpack value must not be decoded; nil if it may be.
func (p *Promise) Misfit(raw []byte) error {
	if p.misfit == nil {
		return nil
	}
	return p.misfit(raw)
}

// Unreadable stops the execution at a result that the workflow's code cannot decode: it hands over why, and the
// coroutine does not go on. The host pauses the execution. As an error of the wait it would look like a failure of
// the step: code would compensate for a step that has succeeded, or fail the workflow.
//
// It returns only where no coroutine waits for the result: in the answer to a query, which fails with the error.
func (p *Promise) Unreadable(cause error) error {
	err := abi.Errorf(abi.CodeUnreadable, "the result of %s does not fit: %v", p.What(), cause)
	co := p.ex.current.Load()
	if co == nil {
		return err
	}
	p.ex.outcome = &abi.Outcome{Error: err}
	co.wait = waiter{co: co, promises: append(co.wait.promises[:0], p), region: &Region{}}
	co.park(&co.wait)
	panic("cruster: a coroutine went on after the end of its workflow")
}

// settle fixes the outcome and makes the waiters runnable in the order in which they began to wait. The first outcome
// stands.
func (p *Promise) settle(raw []byte, value any, err error) {
	if p.settled {
		return
	}
	p.settled, p.raw, p.value, p.err = true, raw, value, err
	if p.onSettle != nil {
		p.onSettle()
	}
	for _, w := range p.waiters {
		w.wake(slices.Index(w.promises, p))
	}
	p.waiters, p.firstWaiter[0] = nil, nil
}

// abandon tells the host that the workflow no longer waits for the op, and settles the promise with err, so that a
// later wait does not hang. The op that receives a signal goes on: it is not the promise's own.
func (p *Promise) abandon(err error) {
	if p.settled || p.op == 0 && !p.signal {
		return
	}
	if !p.signal {
		p.ex.host.Cancel(p.op)
		p.ex.ops.take(p.op)
	}
	p.settle(nil, nil, err)
}

// waiter is one coroutine waiting for the first of some promises. A coroutine waits once at a time,
// and no promise refers to its waiter when the wait has ended: so it has one.
type waiter struct {
	co       *Coroutine
	promises []*Promise
	region   *Region
	// woken says that the wait has ended: its region has ended, or the promise at index is settled.
	woken bool
	ended error
	index int
}

// wake makes the coroutine runnable, once.
func (w *waiter) wake(index int) {
	if w.woken {
		return
	}
	w.woken, w.index = true, index
	w.co.ex.ready.push(w.co)
}

// Await waits for the first of the promises that is settled and returns its index. If several are, the first in the
// list wins. The end of the region ends the wait with its error. An interrupt abandons the ops that no other coroutine
// waits for.
func (s Scope) Await(what string, promises ...*Promise) (int, error) {
	s.check(what)
	s.co.beginCall(Label{what, ""})
	defer s.co.endCall()
	signals := false
	for i, p := range promises {
		if p.settled {
			return i, nil
		}
		if p.signal {
			if p.takeKept() {
				return i, nil
			}
			signals = true
		}
	}
	w := &s.co.wait
	*w = waiter{co: s.co, promises: append(w.promises[:0], promises...), region: s.region}
	w.ended = s.region.ended()
	switch {
	case w.ended != nil:
	case signals:
		w.parkForSignals()
	default:
		w.park()
	}
	index, err := w.index, error(nil)
	if w.ended != nil {
		index, err = -1, w.ended
		if w.region.endedWith() == s.co.ex.root {
			w.abandonOps()
		}
	}
	w.forget()
	return index, err
}

// park waits until one of the promises is settled or the end of the region ends the wait.
func (w *waiter) park() {
	for _, p := range w.promises {
		if p.waiters == nil {
			p.waiters = p.firstWaiter[:0]
		}
		p.waiters = append(p.waiters, w)
	}
	w.co.park(w)
	for _, p := range w.promises {
		if p.waiters != nil {
			p.waiters = slices.DeleteFunc(p.waiters, func(o *waiter) bool { return o == w })
		}
	}
}

// forget lets go of the promises. The room for them is kept, unless it is large.
func (w *waiter) forget() {
	const large = 64
	if clear(w.promises); cap(w.promises) > large {
		w.promises = nil
	}
}

// abandonOps abandons the ops that no other coroutine waits for.
func (w *waiter) abandonOps() {
	for _, p := range w.promises {
		if len(p.waiters) == 0 {
			p.abandon(w.ended)
		}
	}
}
