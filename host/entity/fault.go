package entity

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
)

// refuse ends the request of a message that the host failed to handle. The inbox and the row have
// the truth.
func (e *entity) refuse(m message, err error) {
	e.workers.faults.Report(e.id, err)
	failed := call.Answer{Err: abi.AsError(err)}
	e.state.Keep(nil)
	e.holding.Forget()
	e.generation++
	e.mailbox.Unread()
	switch m := m.(type) {
	case arrival:
		m.call.Reply(failed)
	case withdrawal:
		m.reply <- true
	case roomRequest:
		m.reply <- failed.Err
	case waitersRequest:
		m.reply <- lock.Waiters{}
	case fetched:
		e.mailbox.PageFailed()
	case startsDone:
		e.starts.running, e.starts.wanted = false, true
	case callDone:
		e.mailbox.Forget(m.call)
		m.call.Reply(failed)
	case batchDone:
		for c := range m.Answers {
			e.mailbox.Forget(c)
			c.Reply(failed)
		}
		for _, c := range e.batch {
			e.mailbox.Forget(c)
			c.Reply(failed)
		}
		e.batch = nil
	}
}
