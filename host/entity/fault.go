package entity

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
)

// refuse ends the request of a message that the host failed to handle. The inbox and the row have
// the truth.
func (e *entity) refuse(m message, err error) {
	e.entities.faults.Report(e.id, err)
	failed := call.Answer{Err: abi.AsError(err)}
	e.state.Keep(nil)
	e.holding.Forget()
	e.generation++
	e.unread, e.barren = true, false
	switch m := m.(type) {
	case arrival:
		m.call.Reply(failed)
	case withdrawal:
		m.reply <- true
	case roomRequest:
		m.reply <- failed.Err
	case waitersRequest:
		m.reply <- waitersReply{}
	case fetched:
		e.fetching = false
	case startsDone:
		e.starting, e.starts = false, true
	case callDone:
		e.forget(m.call)
		m.call.Reply(failed)
	case batchDone:
		for c := range m.Answers {
			e.forget(c)
			c.Reply(failed)
		}
		for _, c := range e.batch {
			e.forget(c)
			c.Reply(failed)
		}
		e.batch = nil
	}
}
