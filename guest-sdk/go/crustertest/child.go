package crustertest

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
)

// caller is the op that has started a run and waits for it; the zero caller if none does.
type caller struct {
	run    *run
	op     uint32
	policy string // see abi.Call
}

// giveUp says that an op is not waited for any more.
func (r *run) giveUp(op uint32) {
	r.stopCallees(func(by caller) bool { return by.op == op })
}

// giveUpAll marks the run as ended: it waits for nothing any more.
func (r *run) giveUpAll() { r.stopCallees(func(caller) bool { return true }) }

// stopCallees applies the OnCancel of calls to callees of the run, once the turn has ended.
func (r *run) stopCallees(given func(by caller) bool) {
	reason := r.id + " does not wait for it any more"
	if r.stop != nil && r.stop.Reason != "" {
		reason += ": " + r.stop.Reason
	}
	for _, id := range slices.Sorted(maps.Keys(r.world.runs)) {
		callee := r.world.runs[id]
		if callee.caller.run != r || callee.outcome != nil || !given(callee.caller) {
			continue
		}
		switch callee.caller.policy {
		case abi.OnCancelCancel:
			callee.givenUp = true
			r.world.after(0, func() { r.world.runs[id].interrupt(reason) })
		case abi.OnCancelTerminate:
			r.world.after(0, func() { r.world.runs[id].terminate(reason) })
		}
	}
}

// terminate ends a run without asking it.
func (r *run) terminate(reason string) {
	if r.outcome == nil {
		r.finish(&abi.Outcome{Error: abi.Errorf(abi.CodeTerminated, "%s", reason)})
	}
}

// stopping tells whether a run that was given up is cleaning up.
func (w *world) stopping() bool {
	for _, r := range w.runs {
		if r.givenUp && r.outcome == nil {
			return true
		}
	}
	return false
}

// interruptOther asks another execution of this test to stop.
func (r *run) interruptOther(op uint32, b abi.Interrupt) {
	other, ok := r.world.runs[b.Execution]
	switch {
	case !ok:
		r.deliver(0, op, abi.Delivery{
			Error: abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %s", b.Execution),
		})
	case other.outcome != nil && other.stop == nil:
		r.deliver(0, op, abi.Delivery{Error: abi.Errorf(abi.CodeAlreadyOver, "%s is %s", other.id, other.state())})
	default:
		other.interrupt(b.Reason)
		r.deliver(0, op, abi.Delivery{Value: abi.Nil})
	}
}
