package guest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cruster/cruster/abi"
)

// ErrInterrupted is the error of a wait after the execution was asked to stop.
var ErrInterrupted = errors.New("the execution was asked to stop")

// ErrCanceled is the error of a wait for cancelled work.
var ErrCanceled = errors.New("it was cancelled")

// Options adapt an execution to where it runs. The zero value is right inside a module.
type Options struct {
	// RecoverPanics turns panics of workflow code into the outcome of the execution. Inside a
	// module a panic must crash instead: the host then sees the message and the whole stack, and
	// decides the next step.
	RecoverPanics bool
	// StallLimit bounds how long a coroutine may run without waiting for a durable call; zero means no limit. Inside a
	// module the host has its own limit.
	StallLimit time.Duration
}

// Execution is a running workflow.
//
// Only one goroutine at a time uses its fields: the dispatcher (in Start and Resume), or the one coroutine that the
// dispatcher handed control to. Control is handed over through channels, which also orders the memory accesses, so no
// lock is needed. The exceptions are current and closed, which are atomic: a goroutine that the SDK did not start may
// read them, to learn that its call is refused.
type Execution struct {
	host     Host
	workflow *Workflow
	inv      abi.Invocation
	opts     Options
	now      time.Time
	// entries is how many entries the journal has, as far as the run was told.
	entries uint64
	random  *rand.Rand
	// current is the coroutine that has control; nil while the dispatcher runs.
	current atomic.Pointer[Coroutine]
	// yield is how a coroutine without a thread gives control back to the dispatcher.
	yield chan struct{}
	// ready is the queue of coroutines that can run.
	ready readyQueue
	// live are the coroutines that have not ended, by id.
	live map[int]*Coroutine
	// spawned counts the coroutines; it is the id of the next one.
	spawned int
	// goroutinesBefore counts the other goroutines that existed before the execution.
	goroutinesBefore int
	// ops are the promises of the pending ops.
	ops pendingOps
	// patches are the changes of the code that the workflow asked about.
	patches map[string]*Promise
	// begin begins the workflow, while it waits for signals of the run before; nil after that.
	begin func()
	// signals are where the signals of each name arrive; nil until one is asked for.
	signals map[string]*signalQueue
	// updates are the updates sent to the workflow; nil if it takes none.
	updates *updateQueue
	// published holds the values the run has published; nil until it publishes.
	published *publisher
	// conditions are the conditions coroutines wait for, in the order in which they began.
	conditions []condition
	// queries are how the workflow answers; nil until it says so.
	queries map[string]func(input []byte) ([]byte, error)
	// interruption is settled by a request to stop.
	interruption *Promise
	// root is all that the workflow does. It ends when the execution is asked to stop; reason says why.
	root   *Region
	reason string
	closed atomic.Bool
	// locating has a coroutine that is given control say where it waits, and go on waiting.
	locating bool
	stalled  *Coroutine // that did not give control back in time
	// outcome is nil until the workflow has ended.
	outcome *abi.Outcome
}

// startExecution runs a workflow up to its first wait.
func startExecution(h Host, wf *Workflow, inv abi.Invocation, opts Options) *Execution {
	ex := &Execution{
		host:     h,
		workflow: wf,
		inv:      inv,
		opts:     opts,
		now:      time.Unix(0, inv.Time).UTC(),
		yield:    make(chan struct{}),
		live:     map[int]*Coroutine{},
		root:     &Region{},

		patches: map[string]*Promise{},

		goroutinesBefore: otherGoroutines(),
	}
	// The wait for an interrupt is the first op of every workflow, independent of its code, so that
	// an interrupt can be delivered at any time.
	op, refused := h.Issue(wf.Interrupted, EncodeBody(abi.Interrupted{}))
	if refused != nil {
		ex.outcome = &abi.Outcome{Error: refused}
		return ex
	}
	interruption := &Promise{ex: ex, op: op, what: Label{"interrupt", ""}}
	interruption.onSettle = func() {
		if interruption.err == nil {
			ex.interrupt(interruption.raw)
		}
	}
	ex.ops.add(interruption)
	ex.interruption = interruption

	if wf.Updates != nil {
		if refused := ex.takeUpdates(); refused != nil {
			ex.outcome = &abi.Outcome{Error: refused}
			return ex
		}
	}
	refused = ex.beginWith(inv.Unread, func() {
		ex.spawn(func(co *Coroutine) {
			ex.outcome = ex.outcomeOf(wf.Run(Scope{co, ex.root}, inv.Body))
		})
	})
	if refused != nil {
		ex.outcome = &abi.Outcome{Error: refused}
		return ex
	}
	ex.dispatch()
	ex.endTurn()
	return ex
}

// outcomeOf is the outcome of a workflow whose function has returned.
func (ex *Execution) outcomeOf(value []byte, err error) *abi.Outcome {
	var next *Continue
	switch {
	case err == nil:
		return &abi.Outcome{Value: value}
	case errors.As(err, &next):
		return &abi.Outcome{Continue: &abi.Continue{Input: next.Input}}
	}
	return &abi.Outcome{Error: ex.workflowError(err)}
}

// endTurn does the remaining work when all coroutines wait, or the workflow has ended.
func (ex *Execution) endTurn() {
	if ex.published != nil {
		ex.publish()
	}
	ex.failOnDeadlock()
	if ex.outcome != nil && ex.outcome.Continue != nil {
		ex.outcome.Continue.Unread = ex.unread()
	}
}

// Outcome is nil while the execution waits for deliveries.
func (ex *Execution) Outcome() *abi.Outcome { return ex.outcome }

// Resume applies deliveries in order. After each delivery it runs every coroutine that can run, so that only the order
// of deliveries decides the order of events.
func (ex *Execution) Resume(r abi.Resume) *abi.Outcome {
	ex.now = time.Unix(0, r.Time).UTC()
	ex.entries = max(ex.entries+uint64(len(r.Deliveries)), r.Entries)
	for i := range r.Deliveries {
		d := &r.Deliveries[i]
		if ex.outcome != nil {
			ex.afterEnd(d)
			continue
		}
		p := ex.ops.take(d.Op)
		if p == nil {
			continue // the workflow cancelled the op
		}
		if d.Error != nil {
			p.settle(nil, nil, d.Error)
		} else {
			p.settle(d.Value, nil, nil)
		}
		ex.dispatch()
	}
	ex.endTurn()
	return ex.outcome
}

// ask issues an op whose outcome is of no interest: it takes effect with the turn. If it breaks a rule of the host, the
// host pauses the execution.
func (ex *Execution) ask(call *Call, body []byte) {
	op, refused := ex.host.Issue(call, body)
	if refused != nil {
		ex.crash(refused)
		return
	}
	ex.host.Cancel(op)
}

// crash ends an execution that cannot go on, as a panic of its code would.
func (ex *Execution) crash(err error) {
	if ex.opts == (Options{}) {
		panic(err)
	}
	ex.outcome = ex.panicked(err)
}

// Close ends the goroutines of coroutines that still wait. A module does not need it, and there it does nothing: the
// host discards its whole instance.
func (ex *Execution) Close() {
	if ex.opts == (Options{}) || ex.closed.Swap(true) {
		return
	}
	for _, co := range ex.coroutines() {
		if co == ex.stalled || co.waiting == nil && !ex.ready.contains(co) {
			continue // it blocks outside the SDK, so it cannot be woken
		}
		co.wake <- struct{}{}
		<-ex.yield
	}
	ex.ready = readyQueue{}
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

// interrupt ends every wait that is not shielded.
func (ex *Execution) interrupt(raw []byte) {
	var why abi.Interruption
	if err := abi.Unmarshal(raw, &why); err == nil {
		ex.reason = why.Reason
	}
	ex.end(ex.root, ErrInterrupted)
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
	if lacking := lackingIn(err); lacking != "" && !isCoded(err) {
		out := lackingError(lacking, err)
		if lacking != abi.CodeNoZones { // these are part of the module
			out.Hint = "A workflow reaches nothing outside of itself: do this in an activity, and call that."
		}
		return out
	}
	out := NewError(abi.CodeWorkflowFailed, err)
	var e *abi.Error
	if errors.As(err, &e) && e.Hint != "" && !fromApplication(e.Code) {
		out.Hint = e.Hint // of the cause: it helps more than one on failed workflows in general
	}
	return out
}

// isCoded tells whether an error has a code of the host or the SDK.
func isCoded(err error) bool {
	var e *abi.Error
	return errors.As(err, &e)
}

// NewError makes an error of the given code from err. It keeps the type and details that the application set, wherever
// in the chain they are.
func NewError(code abi.Code, err error) *abi.Error {
	out := abi.Errorf(code, "%v", err)
	var e *abi.Error
	if !errors.As(err, &e) {
		return out
	}
	out.Details, out.Type = e.Details, e.Type
	//nolint:errorlint // e itself: the message of a wrapped e lacks the words around it
	if err == error(e) && fromApplication(e.Code) {
		out.Message = e.Message
	}
	return out
}

// fromApplication tells whether the application wrote the messages of errors with this code. Their code is not repeated
// in the message of the next error.
func fromApplication(c abi.Code) bool {
	switch c {
	case "", abi.CodeActivityFailed, abi.CodeWorkflowFailed, abi.CodeDeferredRejected, abi.CodeOperationFailed:
		return true
	}
	return false
}

// rand is the random source of the execution. The host gives it a seed that is the run's own, so that a replay draws
// the same numbers although none of them is stored, and a later run of the same name draws others.
func (ex *Execution) rand() *rand.Rand {
	if ex.random == nil {
		h := fnv.New128a()
		h.Write(ex.inv.Seed)
		var seed [32]byte
		copy(seed[:], h.Sum(nil))
		h.Write([]byte{1})
		copy(seed[16:], h.Sum(nil))
		ex.random = rand.New(rand.NewChaCha8(seed))
	}
	return ex.random
}
