package entity

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// guarded runs a part of the work on one entity. If it panics, its outcome is unknown to callers.
func guarded(work func() error) error {
	err := hostfault.Try(work)
	var fault *hostfault.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return errors.Join(fault, abi.Errorf(abi.CodeInternal, "the host failed while it worked on the entity; whether the call took effect is not known"))
}

// refuse ends the request of a message that the host failed to handle. The inbox and the row have
// the truth.
func (e *entity) refuse(m message, err error) {
	var fault *hostfault.Fault
	if errors.As(err, &fault) {
		e.entities.report(e.id, fault)
	}
	failed := answer{err: abi.AsError(err)}
	e.keep(nil)
	e.forgetLock()
	e.generation++
	e.unread, e.barren = true, false
	switch m := m.(type) {
	case arrival:
		m.call.reply(failed)
	case withdrawal:
		m.reply <- true
	case roomRequest:
		m.reply <- failed.err
	case waitersRequest:
		m.reply <- waitersReply{}
	case fetched:
		e.fetching = false
	case startsDone:
		e.starting, e.starts = false, true
	case callDone:
		e.forget(m.call)
		m.call.reply(failed)
	case batchDone:
		for c := range m.answers {
			e.forget(c)
			c.reply(failed)
		}
		for _, c := range e.batch {
			e.forget(c)
			c.reply(failed)
		}
		e.batch = nil
	}
}

// report writes the facts that a bug report needs, and no payloads.
func (x *Entities) report(id journal.ID, f *hostfault.Fault) {
	x.metrics.faults.Inc()
	x.Logger.Error("host fault: a call of one entity has failed, the others go on; please report this line",
		"code", abi.CodeInternal, "id", id, "fault", f.What, "stack", string(f.Stack))
}
