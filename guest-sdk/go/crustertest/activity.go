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

// step names a step of the execution by its kind and content and the number of equal steps before
// it, as the host does, so that a change of the code that inserts other steps leaves the name as it
// is.
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

// attempt performs one attempt of an activity and decides the next step.
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

// limitOf returns the time limit of an attempt: the activity's, or the default of hosts.
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
		Attempt:        n,
		Deadline:       abi.DeadlineOf(time.Now(), limit).UnixNano(),
		Body:           a.Input,
		Execution:      r.id,
		IdempotencyKey: r.id + "/" + r.pending[op].step,
		Kind:           abi.InvokeActivity,
		Name:           a.Name,
		Namespace:      r.world.cfg.namespace,
		Time:           r.world.now.UnixNano(),
	}
	took, err := r.duration(guest.Attempt{Host: h, Invocation: inv})
	if err != nil {
		return &abi.Outcome{Error: guest.ActivityError(err)}, 0
	}
	late := abi.Errorf(abi.CodeActivityTimeout, "attempt %d of activity %q took longer than %v", n, a.Name, limit)
	if took > limit {
		return &abi.Outcome{Error: late}, limit
	}
	registry := r.module.Registry
	if stub, ok := r.world.cfg.activities[r.module.step(a.Name)]; ok {
		registry, h.stub = &guest.Registry{}, true
		registry.AddActivity(stub)
	}
	out, hangs := h.start(registry, inv, limit)
	if out == nil {
		late.Message += hangs
		return &abi.Outcome{Error: r.hung(late, limit)}, max(took, limit)
	}
	return out, took
}

// hung is the error of an attempt that did not come back in the real time of its limit. It is
// retried as on a host, but not for ever: the next one is likely to hang as well.
func (r *run) hung(err *abi.Error, limit time.Duration) *abi.Error {
	if r.world.hung += limit; r.world.hung > r.world.cfg.turnLimit {
		err.Retryable = false
	}
	return err
}

// duration is how much virtual time the attempt takes.
func (r *run) duration(at guest.Attempt) (time.Duration, error) {
	if takes, ok := r.world.cfg.takes[r.module.step(at.Invocation.Name)]; ok {
		return takes(at, at.Invocation.Body)
	}
	return 0, nil
}
