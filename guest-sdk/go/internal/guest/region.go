package guest

// Region is a part of a workflow's work whose waits end together: all of it when a client asks the
// execution to stop, a part of it when the workflow itself gives that part up.
//
// Regions are nested: the root is the execution, a shield has nothing around it. Invariants:
//
//  1. When a region ends, the ops that were issued in it or in a region inside it are abandoned in
//     the order in which they were issued, and then the waits in it end, the oldest coroutine's
//     first. A wait begun in it later ends at once. So a replay, which ends it at the same place of
//     the code, does the same in the same order.
//
//  2. Nothing outside of the region is touched; an op awaited from there, and issued in it, has its
//     error.
//
//  3. A coroutine is not killed. It goes on with the error, and may do something about it in a
//     shield.
//
//  4. A region that has ended keeps its reason: an interrupt that reached it is not mistaken for
//     a cancellation that came later.
//
// The root is more lenient: an interrupt abandons only ops that were awaited, so that a workflow
// that cleans up can still await ops it has begun.
type Region struct {
	parent *Region
	// err is why the region ended; nil before.
	err error
}

// endedWith is the region that this one has ended with: itself, or the nearest around it that has
// ended; nil if none has.
func (r *Region) endedWith() *Region {
	for r != nil && r.err == nil {
		r = r.parent
	}
	return r
}

// ended is why the region, or one around it, has ended; nil if none has.
func (r *Region) ended() error {
	if with := r.endedWith(); with != nil {
		return with.err
	}
	return nil
}

// inside tells whether the region is another one, or inside of it.
func (r *Region) inside(other *Region) bool {
	for ; r != nil; r = r.parent {
		if r == other {
			return true
		}
	}
	return false
}

// Ended is why the waits of the scope end; nil if they do not.
func (s Scope) Ended() error { s.check("Err"); return s.region.ended() }

// Within is a scope with a region of its own, which [Scope.End] ends.
func (s Scope) Within() Scope {
	s.check("WithCancel")
	return Scope{co: s.co, region: &Region{parent: s.region}}
}

// EndWith has the region of a scope end with err once a promise of the scope has a value; if it
// never will, with the reason for that.
func (s Scope) EndWith(p *Promise, err error) {
	p.onSettle = func() {
		if p.err != nil {
			err = p.err
		}
		s.co.ex.end(s.region, err)
	}
	if p.settled {
		p.onSettle()
	}
}

// End ends the region of a scope. Any coroutine of the execution may do so.
func (s Scope) End(what string, err error) {
	s.check(what)
	co := s.co.ex.current.Load()
	if co == nil {
		co = s.co
	}
	co.beginCall(Label{what, ""})
	defer co.endCall()
	s.co.ex.end(s.region, err)
}

// end ends a region, once. A region that ended with a region around it keeps its reason.
func (ex *Execution) end(r *Region, err error) {
	if r.ended() != nil {
		return
	}
	r.err = err
	if r != ex.root {
		for _, p := range ex.ops.inOrder() {
			if p.region.inside(r) {
				p.abandon(err)
			}
		}
	}
	for _, co := range ex.coroutines() {
		if w := co.waiting; w != nil && !w.woken && w.region.inside(r) {
			w.ended = err
			w.wake(-1)
		}
	}
}
