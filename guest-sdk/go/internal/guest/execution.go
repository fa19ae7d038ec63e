package guest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cruster/cruster/abi"
)

// ErrInterrupted is what a wait returns once the execution was asked to stop.
var ErrInterrupted = errors.New("the execution was asked to stop")

// ErrCanceled is what a wait for a promise returns that was given up.
var ErrCanceled = errors.New("the future was cancelled")

// Options adapt an execution to where it runs. The zero value is right inside
// a module.
type Options struct {
	// Contain turns panics of workflow code into the outcome of the execution.
	// Inside a module a panic must crash instead: the host then sees the message
	// and the whole stack, and decides.
	Contain bool
	// Stall bounds how long a coroutine may run without waiting for a durable
	// call; zero means for ever. Inside a module the host's own limit holds.
	Stall time.Duration
}

// Execution is one workflow under way.
//
// Its fields belong to whoever runs: the dispatcher (in Start and Resume), or
// the one coroutine that the dispatcher handed control to. Handing over goes
// through channels, which also orders the memory accesses, so no lock is
// needed. Only current is read from outside that chain, by goroutines that
// have no business here and are to be told so.
type Execution struct {
	host    Host
	inv     abi.Invocation
	opts    Options
	now     time.Time
	random  *rand.Rand
	current atomic.Pointer[Coroutine]
	yield   chan struct{}
	ready   []*Coroutine
	live    map[int]*Coroutine
	spawned int
	// others counts the goroutines that were there before the execution.
	others int
	ops    map[uint32]*Promise
	// interruption is settled by a request to stop.
	interruption *Promise
	stopping     bool
	reason       string
	closed       atomic.Bool
	outcome      *abi.Outcome
}

// startExecution runs a workflow up to its first wait.
func startExecution(h Host, wf *Workflow, inv abi.Invocation, opts Options) *Execution {
	ex := &Execution{
		host:  h,
		inv:   inv,
		opts:  opts,
		now:   time.Unix(0, inv.Time).UTC(),
		yield: make(chan struct{}),
		live:  map[int]*Coroutine{},
		ops:   map[uint32]*Promise{},

		others: runtime.NumGoroutine(),
	}
	// The wait for an interrupt is the first op of every workflow, whatever its
	// code does, so that an interrupt finds it at any time.
	op, refused := h.Issue(wf.Interrupted, EncodeBody(abi.Interrupted{}))
	if refused != nil {
		ex.outcome = &abi.Outcome{Error: refused}
		return ex
	}
	interruption := &Promise{ex: ex, op: op, what: "interrupt"}
	interruption.then = func() {
		if interruption.err == nil {
			ex.interrupt(interruption.raw)
		}
	}
	ex.ops[op], ex.interruption = interruption, interruption

	ex.spawn(func(co *Coroutine) {
		value, err := wf.Run(Scope{co: co}, inv.Body)
		if err != nil {
			ex.outcome = &abi.Outcome{Error: ex.workflowError(err)}
			return
		}
		ex.outcome = &abi.Outcome{Value: value}
	})
	ex.dispatch()
	ex.refuseToWaitForEver()
	return ex
}

// Outcome is nil while the execution waits for deliveries.
func (ex *Execution) Outcome() *abi.Outcome { return ex.outcome }

// Resume applies deliveries in order. After each of them everything that can
// run runs, so that the order of deliveries alone decides the order of events.
func (ex *Execution) Resume(r abi.Resume) *abi.Outcome {
	ex.now = time.Unix(0, r.Time).UTC()
	for i := range r.Deliveries {
		if ex.outcome != nil {
			break
		}
		d := &r.Deliveries[i]
		p, ok := ex.ops[d.Op]
		if !ok {
			continue // cancelled meanwhile
		}
		delete(ex.ops, d.Op)
		if d.Error != nil {
			p.settle(nil, nil, d.Error)
		} else {
			p.settle(d.Value, nil, nil)
		}
		ex.dispatch()
	}
	ex.refuseToWaitForEver()
	return ex.outcome
}

// refuseToWaitForEver ends an execution whose coroutines wait for each other
// while no op is open: to park would be to wait for ever, and nobody would learn
// why. An interrupt could end such waits, but nobody waits for one.
func (ex *Execution) refuseToWaitForEver() {
	if ex.outcome != nil {
		return
	}
	for _, p := range ex.ops {
		if p != ex.interruption {
			return
		}
	}
	if !ex.opts.Contain {
		// No goroutine is left to run. The Go runtime says so, with the stack of each,
		// and the host reports it.
		<-ex.yield
	}
	ex.outcome = &abi.Outcome{Error: abi.Errorf(abi.CodeGuestDeadlock,
		"the workflow waits for ever: its coroutines wait for each other, and nothing is left that could happen")}
}

// Close ends the goroutines of coroutines that still wait. A module needs it
// never, as its instance goes away as a whole.
func (ex *Execution) Close() {
	if ex.closed.Swap(true) {
		return
	}
	for _, co := range ex.coroutines() {
		if co.waiting == nil && !slices.Contains(ex.ready, co) {
			continue // stalled outside of the SDK: it cannot be reached
		}
		co.wake <- struct{}{}
		<-ex.yield
	}
	ex.ready = nil
}

// coroutines lists the live coroutines by age.
func (ex *Execution) coroutines() []*Coroutine {
	all := make([]*Coroutine, 0, len(ex.live))
	for _, co := range ex.live {
		all = append(all, co)
	}
	slices.SortFunc(all, func(a, b *Coroutine) int { return a.id - b.id })
	return all
}

// interrupt wakes every wait that is not shielded, oldest coroutine first.
func (ex *Execution) interrupt(raw []byte) {
	var why abi.Interruption
	if err := abi.Unmarshal(raw, &why); err == nil {
		ex.reason = why.Reason
	}
	ex.stopping = true
	for _, co := range ex.coroutines() {
		if w := co.waiting; w != nil && !w.shielded && !w.fired {
			w.interrupted = true
			w.fire(-1)
		}
	}
}

// workflowError is the outcome of a workflow that returned err.
func (ex *Execution) workflowError(err error) *abi.Error {
	var bad *BadInput
	if errors.As(err, &bad) {
		return bad.Reason
	}
	if errors.Is(err, ErrInterrupted) {
		e := abi.Errorf(abi.CodeInterrupted, "%v", err)
		if ex.reason != "" {
			e.Message = fmt.Sprintf("%v: %s", err, ex.reason)
		}
		return e
	}
	return NewError(abi.CodeWorkflowFailed, err)
}

// NewError renders err under code. The application's own type and details
// survive, wherever in the chain they stand.
func NewError(code abi.Code, err error) *abi.Error {
	out := abi.Errorf(code, "%v", err)
	var e *abi.Error
	if !errors.As(err, &e) {
		return out
	}
	out.Details, out.Type = e.Details, e.Type
	if err == error(e) && ownWords(e.Code) {
		out.Message = e.Message
	}
	return out
}

// ownWords tells the codes whose messages are the application's own: to repeat
// such a code in the text of the next error would be noise.
func ownWords(c abi.Code) bool {
	switch c {
	case "", abi.CodeActivityFailed, abi.CodeWorkflowFailed, abi.CodeDeferredRejected:
		return true
	}
	return false
}

// rand is the random source of the execution: seeded from its id, so that a
// replay draws the same numbers without any of them being stored.
func (ex *Execution) rand() *rand.Rand {
	if ex.random == nil {
		h := fnv.New128a()
		h.Write([]byte(ex.inv.Namespace))
		h.Write([]byte{0})
		h.Write([]byte(ex.inv.Execution))
		var seed [32]byte
		copy(seed[:], h.Sum(nil))
		h.Write([]byte{1})
		copy(seed[16:], h.Sum(nil))
		ex.random = rand.New(rand.NewChaCha8(seed))
	}
	return ex.random
}
