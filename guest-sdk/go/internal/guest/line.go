package guest

import (
	"slices"

	"github.com/cruster/cruster/abi"
)

// Line is a queue of coroutines that wait for something that the workflow itself has: a slot, an
// item, a turn. It is served in order, and costs nothing while nothing changes.
//
// Invariants: a coroutine is not served before one in front of it; and a coroutine that gives up,
// because the region of its wait has ended, was served nothing.
type Line struct {
	ex     *Execution
	places []*place
}

// place is one coroutine in a line.
type place struct {
	promise *Promise
	take    func() bool
}

// bind refuses a line that another execution has used: a value shared among executions is not the
// same on a replay.
func (l *Line) bind(s Scope, what string) {
	s.check(what)
	if l.ex == nil {
		l.ex = s.co.ex
	}
	if l.ex != s.co.ex {
		panic(abi.Errorf(
			abi.CodeWrongContext,
			"%s was called on something that another execution has made: make it in the function of the workflow", what,
		))
	}
}

// Stand waits until take, which is called when no coroutine stands in front, takes its share and
// reports true.
func (l *Line) Stand(s Scope, what string, take func() bool) error {
	l.bind(s, what)
	if err := s.region.ended(); err != nil {
		return err
	}
	if len(l.places) == 0 && take() {
		return nil
	}
	taken := false
	at := &place{
		promise: &Promise{ex: s.co.ex, what: Label{what, ""}}, take: func() bool { taken = take(); return taken },
	}
	l.places = append(l.places, at)
	if _, err := s.Await(what, at.promise); err != nil && !taken {
		l.places = slices.DeleteFunc(l.places, func(o *place) bool { return o == at })
		l.Serve() // coroutines behind it may want less
		return err
	}
	return nil
}

// Serve serves the coroutines in front for as long as there is something to take.
func (l *Line) Serve() {
	served := 0
	for _, at := range l.places {
		if !at.take() {
			break
		}
		at.promise.settle(abi.Nil, nil, nil)
		served++
	}
	clear(l.places[:served])
	l.places = l.places[served:]
}

// Change makes a change that may let coroutines in the line go on. A coroutine of the execution
// that stands in the line has control; if none ever stood there, there is no one to serve.
func (l *Line) Change(what string, change func()) {
	if l.ex == nil || l.ex.closed.Load() {
		change()
		return
	}
	co := l.ex.current.Load()
	if co == nil {
		panic(abi.Errorf(abi.CodeGuestGoroutine, "%s was called outside of the coroutines of its workflow", what))
	}
	co.beginCall(Label{what, ""})
	defer co.endCall()
	change()
	l.Serve()
}

// Empty tells whether no coroutine stands in the line.
func (l *Line) Empty() bool { return len(l.places) == 0 }
