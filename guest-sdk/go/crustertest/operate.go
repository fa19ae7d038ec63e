package crustertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// operation is a call of an operation that a host accepts.
type operation struct {
	// entity is "deployment/Name/id".
	entity string
	module *module // nil for a stub
	call   abi.EntityCall
	info   abi.OperationInfo
	of     *guest.Entity
	stub   func() ([]byte, error)
}

// find returns the destination of a message from a deployment, or refuses it as a host does.
func (w *world) find(from string, m abi.EntityMessage) (*operation, error) {
	deployment, name, id, err := abi.SplitEntity(from, m.Entity)
	if err != nil {
		return nil, err
	}
	found := &operation{
		entity: deployment + "/" + name + "/" + id, call: abi.EntityCall{Input: m.Input, Operation: m.Operation},
	}
	if stub := w.cfg.stubOf(deployment, name, m.Operation); stub != nil {
		found.stub = func() ([]byte, error) { return stub(id, m.Input) }
		return found, nil
	}
	if found.module, err = w.module(deployment, "StubOperation"); err != nil {
		return nil, err
	}
	var ok bool
	if found.of, ok = found.module.Entity(name); !ok {
		return nil, abi.Errorf(abi.CodeUnknownEntity, "there is no entity %s in this module", name)
	}
	for _, info := range found.of.Info().Operations {
		if info.Name == m.Operation {
			found.info = info
			found.call.Input, err = info.CheckInput(m.Input)
			return found, err
		}
	}
	return nil, abi.Errorf(abi.CodeUnknownOperation, "the entity %q has no operation %q", name, m.Operation)
}

// operate performs an operation at once. Origin tells the call from all others.
func (w *world) operate(m abi.EntityMessage, origin string) *abi.Outcome {
	found, err := w.find(w.cfg.deployment, m)
	if err != nil {
		return &abi.Outcome{Error: abi.AsError(err)}
	}
	return w.perform(found, origin)
}

func (w *world) perform(o *operation, origin string) *abi.Outcome {
	switch {
	case o.stub != nil:
		value, err := o.stub()
		if err != nil {
			return &abi.Outcome{Error: guest.OperationError(err)}
		}
		return &abi.Outcome{Value: value}
	case o.of.State == nil:
		return w.performCall(o, origin)
	}
	return w.performOperation(o)
}

// mail performs an operation later, for a sender that does not wait for it. The world does not end before that.
func (w *world) mail(o *operation, origin string) {
	w.unsettled++
	w.after(0, func() {
		w.enter(o.entity, nil, func() {
			w.unsettled--
			if out := w.perform(o, origin); out.Error != nil {
				w.log(o.entity, abi.LogWarn, fmt.Sprintf("%s, which was sent, failed: %v", o.call.Operation, out.Error))
			}
		})
	})
}

// performCall runs an operation of an entity without a state.
func (w *world) performCall(o *operation, origin string) *abi.Outcome {
	h := &attemptHost{world: w, execution: o.entity, kind: "operation", name: o.call.Operation}
	inv := w.entityInvocation(o, abi.InvokeCall, abi.MustMarshal(o.call))
	limit := limitOf(0)
	inv.Deadline = abi.DeadlineOf(time.Now(), limit).UnixNano()
	if o.info.Persisted {
		inv.IdempotencyKey = o.entity + "/" + origin
	}
	out, hangs := h.start(o.module.Registry, inv, limit)
	if out == nil {
		return &abi.Outcome{
			Error: abi.Errorf(
				abi.CodeActivityTimeout, "operation %s took longer than %v%s", o.call.Operation, limit, hangs,
			),
		}
	}
	return received(out)
}

// performOperation runs an operation on the state of an entity, keeps the resulting state, and
// sends its messages.
func (w *world) performOperation(o *operation) *abi.Outcome {
	stored := w.entities.states[o.entity]
	inv := w.entityInvocation(o, abi.InvokeOperations, abi.MustMarshal(abi.Operations{
		Operations: []abi.EntityCall{o.call}, State: stored.data, Version: stored.version,
	}))
	out := received(w.startOperation(o, inv))
	if out.Error != nil {
		return out
	}
	var reply abi.OperationsReply
	if err := abi.DecodeBody(out.Value, &reply); err != nil {
		return &abi.Outcome{Error: abi.AsError(err)}
	}
	did := reply.Replies[0]
	sends, err := w.accept(o, &reply)
	if err != nil {
		return &abi.Outcome{Error: o.crashed(err)}
	}
	if !o.info.ReadOnly {
		if w.entities.states[o.entity] = (storedState{data: reply.State, version: reply.Version}); reply.State == nil {
			delete(w.entities.states, o.entity)
		}
		for _, send := range sends {
			send()
		}
	}
	return received(&abi.Outcome{Error: did.Error, Value: did.Value})
}

// startOperation runs an operation in a bubble: like a workflow it has nothing to wait for.
func (w *world) startOperation(o *operation, inv abi.Invocation) *abi.Outcome {
	b := newBubble()
	defer b.close()
	host := &operationHost{attemptHost{world: w, execution: o.entity, kind: "operation", name: o.call.Operation}}
	var out *abi.Outcome
	if err := b.turn(w.now, w.cfg.turnLimit, func() { out = o.run(host, inv) }); err != nil {
		host.end()
		return &abi.Outcome{Error: o.crashed(err)}
	}
	return out
}

// crashed is the outcome of an operation that did not come to one itself.
func (o *operation) crashed(err error) *abi.Error {
	coded := abi.AsError(err)
	if !strings.HasPrefix(string(coded.Code), "CR-4") {
		return coded // it describes the operation's mistake
	}
	return abi.Errorf(abi.CodeOperationCrashed, "operation %q: %s", o.call.Operation, coded.Message).WithHint(
		"%s", coded.Hint,
	)
}

// run turns a panic into an error, as a host does with a crash.
func (o *operation) run(host *operationHost, inv abi.Invocation) (out *abi.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			err, stack := guest.Crash(abi.CodeGuestTrap, p)
			host.Crashed(stack)
			out = &abi.Outcome{Error: o.crashed(err)}
		}
	}()
	_, out = o.module.Start(host, inv, guest.Options{})
	return out
}

// accept checks the state and the messages of an operation, as a host does, and returns a function
// that sends the messages. A mistake in one message is the operation's: it fails, and has sent
// nothing.
func (w *world) accept(o *operation, reply *abi.OperationsReply) (sends []func(), err error) {
	did := &reply.Replies[0]
	if err := checkReply(o.entity, reply); err != nil {
		return nil, err
	}
	for _, m := range did.Sent {
		found, err := w.find(o.module.deployment, m)
		if err != nil {
			return nil, err
		}
		sends = append(sends, func() { w.mail(found, w.entities.origin()) })
	}
	for _, c := range did.Started {
		if err := w.checkStart(o.module.deployment, c); err != nil {
			return nil, err
		}
		sends = append(sends, func() { w.startFrom(o, c) })
	}
	return sends, nil
}

// startFrom starts a workflow that an entity asked for.
func (w *world) startFrom(o *operation, c abi.Call) {
	w.unsettled++
	w.after(0, func() {
		w.unsettled--
		if _, err := w.call(o.module.deployment, c, caller{}); err != nil {
			w.log(o.entity, abi.LogError, fmt.Sprintf("workflow %s is not started: %v", c.Workflow, err))
		}
	})
}

func (w *world) entityInvocation(o *operation, kind string, body []byte) abi.Invocation {
	return abi.Invocation{
		Body:      body,
		Execution: o.entity,
		Kind:      kind,
		Name:      o.of.Name,
		Namespace: w.cfg.namespace,
		Time:      w.now.UnixNano(),
	}
}

// operationHost is the host of an operation of an entity with a state.
type operationHost struct{ attemptHost }

// Do refuses waits that would block other callers of the entity.
func (h *operationHost) Do(call *guest.Call, body []byte) ([]byte, *abi.Error) {
	if call.Name != abi.ImportConfig {
		return nil, abi.Errorf(
			abi.CodeWrongContext, "%s was called in an operation of an entity with a state", call.Name,
		).
			WithHint("Let a workflow do it in an activity, and call the entity with the result.")
	}
	return h.attemptHost.Do(call, body)
}

// Crashed takes the whole stack of a panic of the operation.
func (h *operationHost) Crashed(stack string) {
	h.calls.RLock()
	defer h.calls.RUnlock()
	if !h.over {
		h.world.crashed(h.execution, stack)
	}
}

// end refuses further calls of an abandoned operation. No call of an operation takes long.
func (h *operationHost) end() {
	h.calls.Lock()
	defer h.calls.Unlock()
	h.over = true
}

// entityCall performs an operation for a workflow that waits for it.
func (r *run) entityCall(op uint32, m abi.EntityMessage) {
	found, err := r.world.find(r.module.deployment, m)
	if err == nil {
		err = r.maySectionCall(found)
	}
	if err != nil {
		r.deliver(0, op, abi.Delivery{Error: abi.AsError(err)})
		return
	}
	r.world.after(0, func() {
		r.world.enter(found.entity, r, func() {
			if _, ok := r.pending[op]; !ok || r.outcome != nil {
				return // the op was cancelled, or the run has ended
			}
			out := r.world.perform(found, fmt.Sprintf("%s/%d", r.id, op))
			r.deliver(0, op, abi.Delivery{Error: out.Error, Value: out.Value})
		})
	})
}

// entitySend performs an operation for a workflow that does not wait for it.
func (r *run) entitySend(op uint32, m abi.EntityMessage) {
	found, err := r.world.find(r.module.deployment, m)
	if err == nil {
		err = r.maySectionSend(found)
	}
	if err != nil {
		r.deliver(0, op, abi.Delivery{Error: abi.AsError(err)})
		return
	}
	r.world.mail(found, fmt.Sprintf("%s/%d", r.id, op))
	r.deliver(0, op, abi.Delivery{Value: abi.Nil})
}
