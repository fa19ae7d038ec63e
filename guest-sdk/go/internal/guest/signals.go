package guest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Signal is a signal that a workflow accepts.
type Signal struct {
	Name  string
	Value reflect.Type
}

// Accept registers signals of a workflow. It panics if the workflow has one of that name.
func (w *Workflow) Accept(signals ...Signal) {
	for _, s := range signals {
		if w.accepts(s.Name) {
			panic(fmt.Sprintf("cruster: workflow %s accepts signal %q twice", w.Name, s.Name))
		}
		w.Signals = append(w.Signals, s)
	}
}

func (w *Workflow) accepts(name string) bool {
	return slices.ContainsFunc(w.Signals, func(s Signal) bool { return s.Name == name })
}

// signalQueue is where the signals of one name arrive.
//
// A signal that was delivered is not delivered again to this run, so it must reach the workflow, even if no coroutine
// waits for it any more when it arrives. Therefore the op that receives is never cancelled, there is one at a time, and
// a signal goes to the first promise that a coroutine waits for. If there is none, the signal is kept for the next that
// asks.
type signalQueue struct {
	ex   *Execution
	call *Call
	name string
	// pending says that an op is to receive the next signal.
	pending bool
	op      uint32
	// kept are signals that were not taken, in order. No other is asked for while one is there: that would tell the
	// host that the workflow has looked at it.
	kept [][]byte
	// waiting are the promises that coroutines wait for, in the order in which they began.
	waiting []*Promise
}

// Receive is a promise of the next signal of a name. It takes one when a coroutine waits for it or looks at it: a
// promise that was given up takes none.
func (s Scope) Receive(call *Call, name string) *Promise {
	what := Label{"signal", name}
	if s.co == nil {
		s.check(what.String())
	}
	s.co.beginCall(what)
	defer s.co.endCall()
	ex := s.co.ex
	if !ex.workflow.accepts(name) {
		panic(abi.Errorf(
			abi.CodeWrongContext,
			"workflow %s waits for signal %q, which it does not accept: declare it where the workflow is made, with Accepts",
			ex.workflow.Name, name,
		))
	}
	p := &Promise{ex: ex, what: what, signal: true}
	if err := s.region.ended(); err != nil {
		p.settle(nil, nil, err)
		return p
	}
	if refused := ex.signalQueue(call, name).ask(); refused != nil {
		p.settle(nil, nil, refused)
	}
	return p
}

// TryReceive is a promise of the next signal of a name that is settled if the signal is there. If so, the one after it
// is asked for: it is there the next time.
func (s Scope) TryReceive(call *Call, name string) *Promise {
	p := s.Receive(call, name)
	if !p.settled && p.takeKept() {
		if refused := p.queue().ask(); refused != nil {
			p.ex.crash(refused)
		}
	}
	return p
}

// signalQueue is the queue of a name, which is made when it is first asked for.
func (ex *Execution) signalQueue(call *Call, name string) *signalQueue {
	q, ok := ex.signals[name]
	if !ok {
		q = &signalQueue{ex: ex, name: name}
		if ex.signals == nil {
			ex.signals = map[string]*signalQueue{}
		}
		ex.signals[name] = q
	}
	q.call = call
	return q
}

// ask has the host deliver the next signal, unless one is there or was asked for.
func (q *signalQueue) ask() *abi.Error {
	if q.pending || len(q.kept) > 0 {
		return nil
	}
	op, refused := q.ex.host.Issue(q.call, EncodeBody(abi.Receive{Name: q.name}))
	if refused != nil {
		return refused
	}
	q.pending, q.op = true, op
	arrival := &Promise{ex: q.ex, what: Label{"signal", q.name}, op: op}
	arrival.onSettle = func() { q.arrived(arrival) }
	q.ex.ops.add(arrival)
	return nil
}

// arrived hands a signal to the first that waits.
func (q *signalQueue) arrived(arrival *Promise) {
	q.pending = false
	if len(q.waiting) == 0 {
		q.kept = append(q.kept, arrival.raw)
		if q.ex.begin != nil {
			q.ex.beginIfComplete()
		}
		return
	}
	first := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	first.settle(arrival.raw, nil, arrival.err)
	if len(q.waiting) > 0 {
		if refused := q.ask(); refused != nil {
			q.fail(refused)
		}
	}
}

// fail ends all waits.
func (q *signalQueue) fail(err error) {
	waiting := q.waiting
	q.waiting = nil
	for _, p := range waiting {
		p.settle(nil, nil, err)
	}
}

// enter adds a promise that a coroutine begins to wait for.
func (q *signalQueue) enter(p *Promise) {
	if slices.Contains(q.waiting, p) {
		return // another coroutine waits for it, too
	}
	q.waiting = append(q.waiting, p)
	if refused := q.ask(); refused != nil {
		q.fail(refused)
	}
}

// leave removes a promise that no coroutine waits for any more.
func (q *signalQueue) leave(p *Promise) {
	q.waiting = slices.DeleteFunc(q.waiting, func(o *Promise) bool { return o == p })
}

// parkForSignals parks while some of its promises wait for signals.
func (w *waiter) parkForSignals() {
	for _, p := range w.promises {
		if p.signal {
			p.queue().enter(p)
		}
	}
	// If the host has refused to receive one, there is nothing to wait for.
	if w.index = slices.IndexFunc(w.promises, (*Promise).isSettled); w.index < 0 {
		w.park()
	}
	for _, p := range w.promises {
		if p.signal && len(p.waiters) == 0 {
			p.queue().leave(p)
		}
	}
}

func (p *Promise) isSettled() bool { return p.settled }

// queue returns the queue of a signal's promise.
func (p *Promise) queue() *signalQueue { return p.ex.signals[p.what.Name] }

// takeKept settles a promise of a signal with the kept signal, if there is one.
func (p *Promise) takeKept() bool {
	q := p.queue()
	if q == nil || len(q.kept) == 0 {
		return false
	}
	value := q.kept[0]
	q.kept = slices.Delete(q.kept, 0, 1)
	p.settle(value, nil, nil)
	return true
}

// onlyIdle tells whether all that is pending, besides the wait for an interrupt, are ops that are to receive signals
// for which no coroutine waits, or updates that wake none.
func (ex *Execution) onlyIdle() bool {
	idle := 0
	if ex.updates != nil && !ex.updatesWake() {
		idle++
	}
	for _, q := range ex.signals {
		if q.pending && len(q.waiting) == 0 {
			idle++
		}
	}
	others := len(ex.ops.older)
	if ex.ops.latest != nil {
		others++
	}
	if ex.ops.latest == ex.interruption || ex.ops.older[ex.interruption.op] == ex.interruption {
		others--
	}
	return others == idle
}

// KeptSignals are the values of signals of a name that were delivered, and that the workflow has not looked at. It is
// for tests.
func (ex *Execution) KeptSignals(name string) [][]byte {
	if q := ex.signals[name]; q != nil {
		return q.kept
	}
	return nil
}

// signalInfo describes the signals of a workflow, sorted by name.
func (w *Workflow) signalInfo() []abi.SignalInfo {
	if len(w.Signals) == 0 {
		return nil
	}
	all := make([]abi.SignalInfo, 0, len(w.Signals))
	for _, s := range w.Signals {
		CheckTypes(fmt.Sprintf("signal %q", s.Name), s.Value)
		all = append(all, abi.SignalInfo{Name: s.Name, Value: SchemaOf(s.Value)})
	}
	slices.SortFunc(all, func(a, b abi.SignalInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// CheckSignal checks the value of a signal as a host does, and makes it canonical.
func (w *Workflow) CheckSignal(name string, value []byte) ([]byte, error) {
	signal, err := (&abi.WorkflowInfo{Name: w.Name, Signals: w.signalInfo()}).Signal(name)
	if err != nil {
		return nil, err
	}
	return signal.CheckValue(value)
}
