package guest

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/cruster/cruster/abi"
)

// Scope gives workflow code access to its execution: it holds the coroutine that the code runs in, and the region that
// its waits end with.
type Scope struct {
	co     *Coroutine
	region *Region
}

// Shield returns a scope whose waits end neither with an interrupt nor with a region around it.
func (s Scope) Shield() Scope { return Scope{co: s.co, region: &Region{}} }

// Interrupted tells whether the execution was asked to stop and the scope is not shielded.
func (s Scope) Interrupted() bool {
	root := s.co.ex.root
	return root.err != nil && s.region.inside(root)
}

// Reason is why the execution was asked to stop.
func (s Scope) Reason() string { return s.co.ex.reason }

// Execution is the id of the execution.
func (s Scope) Execution() string { s.check("ExecutionID"); return s.co.ex.inv.Execution }

// Namespace is the tenant of the execution.
func (s Scope) Namespace() string { s.check("Namespace"); return s.co.ex.inv.Namespace }

// Now is the journal time.
func (s Scope) Now() time.Time { s.check("Now"); return s.co.ex.now }

// Entries is how many entries the journal of the run has.
func (s Scope) Entries() uint64 { s.check("HistoryLen"); return s.co.ex.entries }

// Rand is the random source of the execution.
func (s Scope) Rand() *rand.Rand { s.check("Rand"); return s.co.ex.rand() }

// Host is where log records go.
func (s Scope) Host() Host { s.check("Logger"); return s.co.ex.host }

// check refuses a context that did not come from the SDK.
func (s Scope) check(what string) {
	if s.co == nil {
		panic(abi.Errorf(
			abi.CodeWrongContext,
			"%s was called with an empty cruster.Context: pass on the one that the workflow was given", what,
		))
	}
}

// Issue asks the host for an op with this body. If the host refuses it, or the scope is already over, the promise is
// settled at once.
func (s Scope) Issue(op *Call, what Label, body []byte) *Promise {
	if s.co == nil {
		s.check(what.String())
	}
	s.co.beginCall(what)
	defer s.co.endCall()
	p := &Promise{ex: s.co.ex, what: what, region: s.region}
	if err := s.region.ended(); err != nil {
		p.settle(nil, nil, err)
		return p
	}
	number, refused := p.ex.host.Issue(op, body)
	if refused != nil {
		p.settle(nil, nil, refused)
		return p
	}
	p.op = number
	p.ex.ops.add(p)
	return p
}

// Patch asks whether the run takes a change of the code, once for each id. The wait is not ended by an interrupt: code
// that cleans up may ask too.
func (s Scope) Patch(op *Call, id string) *Promise {
	s.check("Patched")
	s.co.beginCall(Label{"Patched", ""})
	p, asked := s.co.ex.patches[id]
	s.co.endCall()
	if !asked {
		p = s.Shield().Issue(op, Label{"patched", id}, EncodeBody(abi.Patched{ID: id}))
		s.co.ex.patches[id] = p
	}
	return p
}

// Failed is a promise that is settled with err from the start.
func (s Scope) Failed(what Label, err error) *Promise {
	s.check(what.String())
	return &Promise{ex: s.co.ex, what: what, settled: true, err: err}
}

// Cancel cancels the op of a promise, if it is still pending. A coroutine has its region ended.
func (s Scope) Cancel(p *Promise) {
	s.check("Cancel")
	s.co.beginCall(Label{"Cancel", ""})
	defer s.co.endCall()
	if p.runs != nil {
		p.ex.end(p.runs, ErrCanceled)
		return
	}
	p.abandon(ErrCanceled)
}

// Spawn runs fn in a new coroutine, in a region of its own inside the region of s.
func (s Scope) Spawn(fn func(Scope) (any, error)) *Promise {
	s.check("Go")
	s.co.beginCall(Label{"Go", ""})
	defer s.co.endCall()
	p := &Promise{ex: s.co.ex, what: Label{"coroutine", ""}, runs: &Region{parent: s.region}}
	co := p.ex.spawn(func(co *Coroutine) {
		value, err := fn(Scope{co: co, region: p.runs})
		p.settle(nil, value, err)
	})
	p.coroutine = co.id
	runtime.Callers(2, co.began[:])
	return p
}
