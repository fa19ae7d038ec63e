package crustertest

import (
	"fmt"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// perform names the step and begins its first attempt.
func (r *run) perform(op uint32, a abi.Activity) {
	p := r.pending[op]
	p.step = r.step(a)
	r.pending[op] = p
	r.world.after(0, func() { r.attempt(op, a, 1) })
}

// step names a step of the execution by what it is and by how many alike came
// before it, as the host does, so that a change of the code that inserts other steps
// leaves the name as it is.
func (r *run) step(a abi.Activity) string {
	identity := a.Key
	if identity == "" {
		sum, _ := hash.Of(a.Input) // DecodeOp has checked the input
		identity = sum[:8]
	}
	identity = a.Name + "/" + identity
	r.steps[identity]++
	return fmt.Sprintf("%s/%d", identity, r.steps[identity])
}

// attempt performs one attempt of an activity and decides what follows.
func (r *run) attempt(op uint32, a abi.Activity, n int) {
	if _, ok := r.pending[op]; !ok || r.outcome != nil {
		return // the op was cancelled, or the execution has ended
	}
	out, took := r.runAttempt(op, a, n)
	out = received(out)
	if out.Error == nil || !out.Error.Retryable || n > int(a.Retry.Retries) {
		r.deliver(took, op, abi.Delivery{Error: out.Error, Value: out.Value})
		return
	}
	r.world.after(took, func() {
		if _, ok := r.pending[op]; ok && r.outcome == nil {
			r.opened.entries++
			r.history.add(Event{Time: r.world.now, Type: Retried, Op: op, Err: out.Error})
		}
	})
	// There is no jitter, so that tests are repeatable.
	r.world.after(took+a.Retry.Delay(uint32(n)), func() { r.attempt(op, a, n+1) })
}

// limitOf is how long an attempt may take: as the activity says, or what hosts have unless they
// are told otherwise.
func limitOf(timeout int64) time.Duration {
	if timeout <= 0 {
		return time.Minute
	}
	return time.Duration(timeout)
}

// runAttempt runs the activity's code and returns how much virtual time it took.
func (r *run) runAttempt(op uint32, a abi.Activity, n int) (*abi.Outcome, time.Duration) {
	h := &attemptHost{world: r.world, execution: r.id, kind: "activity", name: a.Name}
	limit := limitOf(a.Timeout)
	inv := abi.Invocation{
		Attempt: n, Deadline: time.Now().Add(limit).UnixNano(), Body: a.Input, Execution: r.id, IdempotencyKey: r.id + "/" + r.pending[op].step,
		Kind: abi.InvokeActivity, Name: a.Name, Namespace: r.world.cfg.namespace, Time: r.world.now.UnixNano(),
	}
	took, err := r.duration(guest.Attempt{Host: h, Invocation: inv})
	if err != nil {
		return &abi.Outcome{Error: guest.ActivityError(err)}, 0
	}
	if took > limit {
		return &abi.Outcome{Error: abi.Errorf(abi.CodeActivityTimeout, "activity %s took longer than %v", a.Name, limit)}, limit
	}
	registry := r.module.Registry
	if stub, ok := r.world.cfg.activities[r.module.step(a.Name)]; ok {
		registry = &guest.Registry{}
		registry.AddActivity(stub)
	}
	_, out := registry.Start(h, inv, guest.Options{})
	if err := h.endTransaction(out.Error == nil); err != nil && out.Error == nil {
		out = &abi.Outcome{Error: abi.Errorf(abi.CodeSQL, "commit: %v", err)}
	}
	return out, took
}

// duration is how much virtual time the attempt takes.
func (r *run) duration(at guest.Attempt) (time.Duration, error) {
	if takes, ok := r.world.cfg.takes[r.module.step(at.Invocation.Name)]; ok {
		return takes(at, at.Invocation.Body)
	}
	return 0, nil
}

// attemptHost is the host of one attempt of an activity, or of one call of an operation.
type attemptHost struct {
	world     *world
	execution string // or the entity
	kind      string // what is attempted: "activity"
	name      string
	tx        Transaction
}

var (
	_ guest.Host    = (*attemptHost)(nil)
	_ guest.Locator = (*attemptHost)(nil)
)

// Issue refuses: durable ops are only available in workflows.
func (h *attemptHost) Issue(op *guest.Call, _ []byte) (uint32, *abi.Error) {
	return 0, abi.Errorf(abi.CodeWrongContext, "%s was called in an %s", op.Name, h.kind)
}

// Cancel does nothing: an attempt has no ops.
func (h *attemptHost) Cancel(uint32) {}

// Log passes a record on to the test.
func (h *attemptHost) Log(level int32, record string) { h.LogAt(0, level, record) }

// LogAt is Log of a record whose place is known.
func (h *attemptHost) LogAt(pc uintptr, level int32, record string) {
	h.world.logAt(pc, h.execution, level, abi.LogText([]byte(record)))
}

// Do performs an immediate call.
func (h *attemptHost) Do(call *guest.Call, body []byte) ([]byte, *abi.Error) {
	reply, err := h.perform(call.Name, body)
	if err != nil {
		return nil, abi.AsError(err)
	}
	return abi.MustMarshal(reply), nil
}

func (h *attemptHost) perform(name string, body []byte) (any, error) {
	switch name {
	case abi.ImportConfig:
		var b abi.ConfigRequest
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		value, found := h.world.cfg.config[b.Name]
		return abi.ConfigReply{Found: found, Value: value}, nil
	case abi.ImportHTTP:
		var b abi.HTTPRequest
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		return h.http(b)
	case abi.ImportHTTPAll:
		var b abi.HTTPAll
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		return h.httpAll(b)
	case abi.ImportTxExec, abi.ImportTxQuery:
		var b abi.SQL
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		return h.sql(name, b)
	case abi.ImportTxRollback:
		return nil, h.endTransaction(false)
	}
	return nil, fmt.Errorf("crustertest: call %q is unknown", name)
}

// missing is the error of a call that needs something the test did not provide.
func (h *attemptHost) missing(what, option string) error {
	stub := "crustertest.Stub"
	if h.kind == "operation" {
		stub = "crustertest.StubOperation"
	}
	return abi.Errorf(abi.CodeWrongContext, "%s %s uses %s, which the test does not provide", h.kind, h.name, what).
		WithHint("Replace the %s with %s, or provide %s with %s.", h.kind, stub, what, option)
}
