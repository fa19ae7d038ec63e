package crustertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Signal sends a signal to the execution from outside, before its first step.
func Signal[T any](s cruster.Signal[T], value T) Option {
	b := signalValue(s, value)
	return func(c *config) {
		c.early = append(c.early, func(r *run) { r.signalFromOutside(s.Name(), b) })
	}
}

// SignalAfter sends a signal to the execution from outside, at a virtual time after its start. If a host would refuse
// it, the execution ends with the reason: the test has a mistake.
//
// If the execution ends before that time, nothing happens: in the test of a timeout it comes too
// late. [When] ties it to a step instead, and fails if that is not reached.
func SignalAfter[T any](d time.Duration, s cruster.Signal[T], value T) Option {
	b := signalValue(s, value)
	return outside(d, func(r *run) { r.signalFromOutside(s.Name(), b) })
}

func signalValue[T any](s cruster.Signal[T], value T) []byte {
	b, err := abi.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("crustertest: the value of signal %s: %v", s.Name(), err))
	}
	return b
}

// Unread lists the signals of an execution that its workflow did not read, in the order in which they were sent.
func Unread[T any](h *History, s cruster.Signal[T]) ([]T, error) {
	var all []T
	for _, u := range h.Unread {
		if u.Name != s.Name() {
			continue
		}
		var v T
		if err := abi.Unmarshal(u.Value, &v); err != nil {
			return nil, fmt.Errorf("the value of signal %s: %w", u.Name, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// UnreadSignal is a signal that the workflow did not read.
type UnreadSignal struct {
	Name  string
	Value []byte // msgpack
}

// inbox holds the signals that no op has received yet, in the order in which they were sent, and the ops that wait for
// one, in the order in which they were issued.
type inbox struct {
	signals   []UnreadSignal
	receivers map[string][]uint32
	// arriving are the signals that ops receive, from the time they are due.
	arriving map[uint32]UnreadSignal
}

// receive waits for the next signal of a name.
func (r *run) receive(op uint32, name string) {
	for i, s := range r.inbox.signals {
		if s.Name == name {
			r.inbox.signals = append(r.inbox.signals[:i:i], r.inbox.signals[i+1:]...)
			r.arrive(op, s)
			return
		}
	}
	if r.inbox.receivers == nil {
		r.inbox.receivers = map[string][]uint32{}
	}
	r.inbox.receivers[name] = append(r.inbox.receivers[name], op)
}

// accept takes a signal, or refuses it as a host does.
func (r *run) accept(name string, value []byte) *abi.Error {
	if r.outcome != nil {
		return abi.Errorf(abi.CodeAlreadyOver, "%s is %s", r.id, r.state())
	}
	if wf, ok := r.module.Workflow(r.workflow); ok {
		checked, err := wf.CheckSignal(name, value)
		if err != nil {
			return abi.AsError(err)
		}
		value = checked
	}
	if len(r.inbox.signals) >= abi.MaxInbox {
		return abi.Errorf(abi.CodeInboxFull, "%d messages wait for %s", len(r.inbox.signals), r.id)
	}
	s := UnreadSignal{Name: name, Value: value}
	if ops := r.inbox.receivers[name]; len(ops) > 0 {
		r.inbox.receivers[name] = ops[1:]
		r.arrive(ops[0], s)
		return nil
	}
	r.inbox.signals = append(r.inbox.signals, s)
	return nil
}

// arrive has an op receive a signal.
func (r *run) arrive(op uint32, s UnreadSignal) {
	if r.inbox.arriving == nil {
		r.inbox.arriving = map[uint32]UnreadSignal{}
	}
	r.inbox.arriving[op] = s
	r.deliver(0, op, abi.Delivery{Value: s.Value})
}

// signalFromOutside ends the execution if a client could not send the signal.
func (r *run) signalFromOutside(name string, value []byte) {
	if err := r.accept(name, value); err != nil && err.Code != abi.CodeAlreadyOver {
		r.finish(&abi.Outcome{Error: err})
	}
}

// signal sends a signal to an execution of this test.
func (r *run) signal(op uint32, b abi.Signal) {
	other, ok := r.world.runs[b.Execution]
	if !ok {
		r.deliver(0, op, abi.Delivery{
			Error: abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %s", b.Execution),
		})
		return
	}
	if err := other.accept(b.Name, b.Value); err != nil {
		r.deliver(0, op, abi.Delivery{Error: err})
		return
	}
	r.deliver(0, op, abi.Delivery{Value: abi.Nil})
}

// unread lists the signals the workflow has not read: those kept for it, those about to be
// delivered, and the rest.
func (r *run) unread() []UnreadSignal {
	var all []UnreadSignal
	ex := r.live()
	if wf, ok := r.module.Workflow(r.workflow); ok && ex != nil {
		for _, s := range wf.Signals {
			for _, v := range ex.KeptSignals(s.Name) {
				all = append(all, UnreadSignal{Name: s.Name, Value: v})
			}
		}
	}
	return append(all, r.undelivered()...)
}

// undelivered lists the signals that the workflow was not given.
func (r *run) undelivered() []UnreadSignal {
	var all []UnreadSignal
	for _, op := range slices.Sorted(maps.Keys(r.inbox.arriving)) {
		if _, ok := r.pending[op]; ok {
			all = append(all, r.inbox.arriving[op])
		}
	}
	return append(all, r.inbox.signals...)
}
