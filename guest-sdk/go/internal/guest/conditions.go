package guest

import (
	"slices"

	"github.com/cruster/cruster/abi"
)

// condition is something that coroutines wait for, about the variables of the workflow.
type condition struct {
	promise *Promise
	holds   func() bool
}

// When is a promise that is settled once a condition holds: it is looked at now, and whenever a coroutine has run. The
// condition is looked at as a part of the call, so that it makes no durable calls itself.
func (s Scope) When(holds func() bool) *Promise {
	what := Label{"WaitUntil", ""}
	s.check(what.Kind)
	s.co.beginCall(what)
	defer s.co.endCall()
	p := &Promise{ex: s.co.ex, what: what}
	switch ended := s.region.ended(); {
	case ended != nil:
		p.settle(nil, nil, ended)
	case holds():
		p.settle(abi.Nil, nil, nil)
	default:
		p.ex.conditions = append(p.ex.conditions, condition{p, holds})
	}
	return p
}

// checkConditions settles the waits for conditions that hold now.
func (ex *Execution) checkConditions() {
	if ex.opts.RecoverPanics {
		defer func() {
			if p := recover(); p != nil {
				ex.outcome = ex.panicked(p)
			}
		}()
	}
	ex.conditions = slices.DeleteFunc(ex.conditions, func(c condition) bool {
		if !c.promise.settled && c.holds() {
			c.promise.settle(abi.Nil, nil, nil)
		}
		return c.promise.settled
	})
	if len(ex.conditions) == 0 {
		ex.conditions = nil
	}
}
