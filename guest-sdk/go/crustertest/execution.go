package crustertest

import (
	"cmp"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// run is one simulated execution, and the host of its workflow.
type run struct {
	world    *world
	module   *module
	id       string
	workflow string
	input    []byte
	// ex is the execution in the bubble; see live.
	ex      *guest.Execution
	bubble  *bubble
	gate    *gate // of the bubble
	outcome *abi.Outcome
	// ops counts the ops that were issued; pending names the undelivered ones.
	ops       uint32
	pending   map[uint32]pendingOp
	opened    opened
	steps     map[string]int // how often an activity occurred, by its identity
	deferreds map[string]*deferred
	inbox     inbox
	updates   updates
	published Published
	// section is the critical section that the run is in; nil if it is in none.
	section *section
	// interruptOp waits for an interrupt; stop is the request to stop, nil if there is none.
	interruptOp uint32
	stop        *abi.Interruption
	waiters     []func(*abi.Outcome)
	caller      caller
	givenUp     bool // its caller has asked it to stop
	history     History
}

// pendingOp is an op that was not delivered yet.
type pendingOp struct {
	// The argument what names it for messages.
	what string
	// issued is its number among the ops of all executions, and at when that was.
	issued int
	at     time.Time
	// kind is the op's kind.
	kind string
	// step names an activity within the execution.
	step string
	// size is the size of its body.
	size int
}

// deferred is a promise of the execution.
type deferred struct {
	settled *abi.Delivery
	waiters []uint32
}

var (
	_ guest.Host    = (*run)(nil)
	_ guest.Locator = (*run)(nil)
)

func newRun(w *world, m *module, id, workflow string, input []byte) *run {
	r := &run{
		world: w, module: m, id: id, workflow: workflow, input: input,
		pending:   map[uint32]pendingOp{},
		steps:     map[string]int{},
		deferreds: map[string]*deferred{},
		history: History{
			Execution: id, Namespace: w.cfg.namespace, Workflow: workflow, Input: input, Start: w.now, code: m.Registry,
		},
	}
	w.runs[id] = r
	return r
}

func (r *run) invocation() abi.Invocation {
	return abi.Invocation{
		Body:      r.input,
		Execution: r.id,
		Kind:      abi.InvokeWorkflow,
		Name:      r.workflow,
		Namespace: r.world.cfg.namespace,
		Seed:      r.history.seed(),
		Time:      r.history.Start.UnixNano(),
		Unread:    r.history.Given,
	}
}

func (r *run) start() {
	if r.outcome != nil {
		return // terminated
	}
	r.bubble = newBubble()
	r.gate = r.bubble.gate
	r.turn(func() (out *abi.Outcome) {
		r.ex, out = r.module.Start(r, r.invocation(), guest.Options{RecoverPanics: true, StallLimit: forever})
		return out
	})
}

// turn has the workflow take a turn.
func (r *run) turn(take func() *abi.Outcome) {
	r.opened.ops, r.opened.waits, r.opened.logged = 0, false, 0
	var out *abi.Outcome
	if err := r.world.turn(r.bubble, func() { out = take() }); err != nil {
		if err.Code == abi.CodeGuestTimeout && r.gate.quiet {
			err = r.withPending(err)
		}
		r.finish(&abi.Outcome{Error: err})
		return
	}
	r.afterTurn(out)
}

// live is the workflow while it waits; nil if it has not begun, or does not come back.
func (r *run) live() *guest.Execution {
	if r.bubble == nil || r.bubble.stuck {
		return nil
	}
	return r.ex
}

// ask asks the workflow, which waits. It sees the time of its last turn, as on a host.
func (r *run) ask(ex *guest.Execution, q abi.Query) *abi.Outcome {
	var out *abi.Outcome
	if err := r.bubble.look(r.world.cfg.turnLimit, func() { out = ex.Query(q) }); err != nil {
		if r.bubble.stuck {
			r.bubble.last = ex.Close // should the answer ever come
		}
		return &abi.Outcome{Error: err}
	}
	return out
}

// close ends the remainder of the workflow.
func (r *run) close() {
	if r.bubble == nil {
		return
	}
	if ex := r.live(); ex != nil {
		_ = r.bubble.do(r.world.cfg.turnLimit, ex.Close) // if it fails, its goroutines stay
	}
	r.bubble.close()
	r.bubble = nil
}

// afterTurn ends the run if the turn has an outcome.
func (r *run) afterTurn(out *abi.Outcome) {
	if out == nil {
		return
	}
	if out = received(out); out.Continue != nil {
		r.continueAsNew(out)
		return
	}
	r.finish(out)
}

// received is an outcome as it comes out of a module: in canonical form, and bounded.
func received(out *abi.Outcome) *abi.Outcome {
	got, err := abi.DecodeOutcome(abi.MustMarshal(out))
	if err != nil {
		return &abi.Outcome{Error: err}
	}
	return got
}

func (r *run) finish(out *abi.Outcome) {
	r.outcome = out
	r.endSection()
	r.giveUpAll()
	r.updates.refuse(r.id)
	for _, notify := range r.waiters {
		notify(out)
	}
	r.waiters = nil
}

// onEnd calls notify when the execution ends, or now if it has ended.
func (r *run) onEnd(notify func(*abi.Outcome)) {
	if r.outcome != nil {
		notify(r.outcome)
		return
	}
	r.waiters = append(r.waiters, notify)
}

// deliver schedules a delivery after d.
//
// Ops due at the same time come in the order of issue. A host takes time for its own work, however
// short: an op that needs such work comes behind all ops of its turn that are ready as soon as they
// are issued.
func (r *run) deliver(d time.Duration, op uint32, result abi.Delivery) {
	p := r.pending[op]
	if !needsHost[p.kind] || r.world.now.Add(d).After(p.at) {
		r.deliverAs(p.issued, d, op, result)
		return
	}
	r.world.soon(func() { r.deliverAs(r.world.ops, 0, op, result) })
}

// needsHost are the ops that a host has to do something for.
var needsHost = map[string]bool{
	abi.OpActivity: true, abi.OpCall: true, abi.OpSend: true, abi.OpResolve: true, abi.OpPoll: true, abi.OpSignal: true,
	abi.OpEntityCall: true, abi.OpEntitySend: true, abi.OpLock: true, abi.OpInterrupt: true,
}

// deliverAs schedules a delivery after d, at a place among the deliveries due at the same time.
func (r *run) deliverAs(place int, d time.Duration, op uint32, result abi.Delivery) {
	result.Op = op
	r.world.deliverAfter(d, place, func() {
		if _, ok := r.pending[op]; !ok || r.outcome != nil {
			return
		}
		if err := r.enter(); err != nil {
			r.finish(&abi.Outcome{Error: r.withPending(err)})
			return
		}
		r.closeOp(op)
		r.history.add(Event{Time: r.world.now, Type: Delivered, Op: op, Value: result.Value, Err: result.Error})
		r.turn(func() *abi.Outcome {
			return r.ex.Resume(abi.Resume{
				Deliveries: []abi.Delivery{result}, Entries: uint64(r.opened.entries), Time: r.world.now.UnixNano(),
			})
		})
	})
}

func (r *run) deliverValue(op uint32, v any) {
	r.deliver(0, op, abi.Delivery{Value: abi.MustMarshal(v)})
}

// Issue accepts an op and begins to perform it.
func (r *run) Issue(call *guest.Call, body []byte) (uint32, *abi.Error) {
	if err := r.gate.enter(); err != nil {
		return 0, err
	}
	defer r.gate.leave()
	if err := r.checkOpen(call.Name, body); err != nil {
		return 0, err
	}
	perform, err := r.decode(call.Name, body)
	if err != nil {
		return 0, err
	}
	name := opName(call.Name, body)
	r.open(call.Name, body)
	r.ops++
	op := r.ops
	r.world.ops++
	r.pending[op] = pendingOp{
		what:   strings.TrimSpace(call.Name + " " + name),
		kind:   call.Name,
		issued: r.world.ops,
		at:     r.world.now,
		size:   len(body),
	}
	r.history.add(Event{Time: r.world.now, Type: Issued, Op: op, Kind: call.Name, Name: name, Body: body})
	perform(op)
	r.world.reach(r, call.Name, name)
	return op, nil
}

// decode reads the body of an op. It returns the function that performs the op, and refuses the
// same input as the host.
func (r *run) decode(kind string, body []byte) (perform func(op uint32), err *abi.Error) {
	decoded, err := abi.DecodeOp(kind, body)
	if err != nil {
		return nil, err
	}
	switch b := decoded.(type) {
	case *abi.Interrupted:
		return r.awaitInterrupt, nil
	case *abi.Sleep:
		d := time.Duration(b.Duration)
		return func(op uint32) { r.deliver(d, op, abi.Delivery{Value: abi.Nil}) }, nil
	case *abi.Activity:
		return func(op uint32) { r.perform(op, *b) }, nil
	case *abi.Deferred:
		return func(op uint32) { r.await(b.Name, op) }, nil
	case *abi.Resolve:
		return func(op uint32) { r.resolve(op, *b) }, nil
	case *abi.Call:
		return func(op uint32) { r.call(op, *b, kind == abi.OpCall) }, nil
	case *abi.Interrupt:
		return func(op uint32) { r.interruptOther(op, *b) }, nil
	case *abi.Poll:
		return func(op uint32) { r.poll(op, b.Execution) }, nil
	case *abi.Receive:
		return func(op uint32) { r.receive(op, b.Name) }, nil
	case *abi.Signal:
		return func(op uint32) { r.signal(op, *b) }, nil
	case *abi.Lock:
		return func(op uint32) { r.lock(op, b.Entities) }, nil
	case *abi.Unlock:
		return func(op uint32) { r.endSection(); r.deliver(0, op, abi.Delivery{Value: abi.Nil}) }, nil
	case *abi.Update:
		return r.takeUpdate, nil
	case *abi.Answer:
		return func(op uint32) { r.answer(b); r.deliver(0, op, abi.Delivery{Value: abi.Nil}) }, nil
	case *abi.Publish:
		if err := r.checkPublish(b); err != nil {
			return nil, err
		}
		return func(op uint32) { r.published.apply(b); r.deliver(0, op, abi.Delivery{Value: abi.Nil}) }, nil
	case *abi.EntityMessage:
		if kind == abi.OpEntityCall {
			return func(op uint32) { r.entityCall(op, *b) }, nil
		}
		return func(op uint32) { r.entitySend(op, *b) }, nil
	case *abi.Patched:
		return func(op uint32) { r.deliverValue(op, !r.world.cfg.unpatched[b.ID]) }, nil
	}
	return nil, abi.Errorf(abi.CodeBadBody, "the test kit does not know the op %q", kind)
}

func (r *run) deferred(name string) *deferred {
	d, ok := r.deferreds[name]
	if !ok {
		d = &deferred{}
		r.deferreds[name] = d
	}
	return d
}

func (r *run) await(name string, op uint32) {
	d := r.deferred(name)
	if d.settled != nil {
		r.deliver(0, op, *d.settled)
		return
	}
	d.waiters = append(d.waiters, op)
}

// settle settles a deferred, or refuses that as a host does. It returns false if the deferred was already settled.
func (r *run) settle(name string, result abi.Delivery) (bool, *abi.Error) {
	if r.outcome != nil {
		if r.deferred(name).settled == nil {
			return false, abi.Errorf(abi.CodeAlreadyOver, "%s is %s", r.id, r.state())
		}
		return false, nil
	}
	if wf, ok := r.module.Workflow(r.workflow); ok {
		declared, err := wf.Deferred(name)
		if err == nil && result.Error == nil {
			result.Value, err = declared.CheckValue(result.Value)
		}
		if err != nil {
			return false, abi.AsError(err)
		}
	}
	d := r.deferred(name)
	if d.settled != nil {
		return false, nil
	}
	d.settled = &result
	for _, op := range d.waiters {
		r.deliver(0, op, result)
	}
	d.waiters = nil
	return true, nil
}

// settleFromOutside ends the execution if a client could not settle the deferred.
func (r *run) settleFromOutside(name string, result abi.Delivery) {
	if _, err := r.settle(name, result); err != nil && err.Code != abi.CodeAlreadyOver {
		r.finish(&abi.Outcome{Error: err})
	}
}

func (r *run) resolve(op uint32, b abi.Resolve) {
	owner := r
	if b.Execution != "" && b.Execution != r.id {
		other, ok := r.world.runs[b.Execution]
		if !ok {
			r.deliver(0, op, abi.Delivery{
				Error: abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %s", b.Execution),
			})
			return
		}
		owner = other
	}
	settled, err := owner.settle(b.Name, abi.Delivery{Error: b.Error, Value: b.Value})
	if err != nil {
		r.deliver(0, op, abi.Delivery{Error: err})
		return
	}
	r.deliverValue(op, settled)
}

func (r *run) call(op uint32, b abi.Call, wait bool) {
	if wait && r.section != nil {
		r.deliver(0, op, abi.Delivery{
			Error: abi.Errorf(abi.CodeInSection, "workflow %s was called in a critical section", b.Workflow).
				WithHint("End the section first, or start the workflow without waiting for it."),
		})
		return
	}
	by := caller{}
	if wait {
		by = caller{run: r, op: op, policy: b.OnCancel}
	}
	other, err := r.world.call(r.module.deployment, b, by)
	switch {
	case err != nil:
		r.deliver(0, op, abi.Delivery{Error: err})
	case other == r:
		r.deliver(0, op, abi.Delivery{
			Error: abi.Errorf(abi.CodeCallToItself, "%s called itself with its own key", r.id),
		})
	case !wait:
		r.deliverValue(op, other.id)
	default:
		other.onEnd(func(out *abi.Outcome) { r.deliver(0, op, abi.Delivery{Error: out.Error, Value: out.Value}) })
	}
}

func (r *run) poll(op uint32, id string) {
	other, ok := r.world.runs[id]
	if !ok {
		r.deliver(0, op, abi.Delivery{Error: abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %s", id)})
		return
	}
	r.deliverValue(op, abi.PollReply{Outcome: other.outcome, State: other.state()})
}

func (r *run) state() string {
	switch {
	case r.outcome == nil:
		return "running"
	case r.outcome.Error == nil:
		return "completed"
	case r.outcome.Error.Code == abi.CodeInterrupted || r.outcome.Error.Code == abi.CodeTerminated:
		return "interrupted"
	}
	return "failed"
}

// interrupt asks the execution to stop. The first request stands.
func (r *run) interrupt(reason string) {
	if r.stop != nil {
		return
	}
	r.stop = &abi.Interruption{Reason: reason}
	if r.interruptOp != 0 {
		r.awaitInterrupt(r.interruptOp)
	}
}

// awaitInterrupt has an op wait for a request to stop.
func (r *run) awaitInterrupt(op uint32) {
	r.interruptOp = op
	if r.stop != nil {
		r.deliver(0, op, abi.Delivery{Value: abi.MustMarshal(r.stop)})
	}
}

// Cancel forgets an op.
func (r *run) Cancel(op uint32) {
	if r.gate.enter() != nil {
		return
	}
	defer r.gate.leave()
	r.history.add(Event{Time: r.world.now, Type: Canceled, Op: op, Kind: r.pending[op].what})
	r.closeOp(op)
	r.giveUp(op)
	if r.section != nil && r.section.op == op {
		r.endSection()
	}
}

// Do refuses: immediate calls are not available in workflows.
func (r *run) Do(call *guest.Call, _ []byte) ([]byte, *abi.Error) { return nil, refuseCall(call.Name) }

func refuseCall(name string) *abi.Error {
	what := map[string]string{
		abi.ImportHTTP: "HTTP", abi.ImportHTTPAll: "HTTP", abi.ImportConfig: "configuration",
	}[name]
	return abi.Errorf(
		abi.CodeWrongContext, "%s is not available in execute: its answer would differ on replay", cmp.Or(what, "SQL"),
	).
		WithHint("Move it into an activity and call that.")
}

// Log passes a record on to the test.
func (r *run) Log(level int32, text string) { r.LogAt(0, level, text) }

// LogAt is Log of a record whose place is known.
func (r *run) LogAt(pc uintptr, level int32, text string) {
	if r.gate.enter() != nil {
		return // the test may be over, too
	}
	defer r.gate.leave()
	if r.mayLog(len(text)) {
		r.world.logAt(pc, r.id, level, abi.LogText([]byte(text)))
	}
}

// Crashed takes the whole stack of a panic of the workflow.
func (r *run) Crashed(stack string) {
	if r.gate.enter() == nil {
		defer r.gate.leave()
		r.world.crashed(r.id, stack)
	}
}
