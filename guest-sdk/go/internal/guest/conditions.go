package guest

import "slices"

// condition is something that coroutines wait for, about the variables of the workflow.
type condition struct {
	promise *Promise
	holds   func() bool
}

// When is a promise that is settled once a condition holds: it is looked at now, and whenever
// a coroutine has run.
func (s Scope) When(holds func() bool) *Promise {
	what := Label{"condition", ""}
	s.check(what.Kind)
	if s.Interrupted() {
		return s.Failed(what, ErrInterrupted)
	}
	p := &Promise{ex: s.co.ex, what: what}
	if holds() {
		p.settle(nil, nil, nil)
		return p
	}
	s.co.beginCall(what)
	defer s.co.endCall()
	p.ex.conditions = append(p.ex.conditions, condition{p, holds})
	return p
}

// checkConditions settles what waits for conditions that hold now.
func (ex *Execution) checkConditions() {
	ex.conditions = slices.DeleteFunc(ex.conditions, func(c condition) bool {
		if !c.promise.settled && c.holds() {
			c.promise.settle(nil, nil, nil)
		}
		return c.promise.settled
	})
	if len(ex.conditions) == 0 {
		ex.conditions = nil
	}
}
