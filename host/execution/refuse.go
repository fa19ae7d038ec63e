package execution

import (
	"slices"

	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/journal"
)

// isRequest tells whether a caller from outside asks for something.
func isRequest(m notice) bool {
	switch m.(type) {
	case messageArrived, lookForMail, resumeRequest, failRequest, moveRequest, waitingRequest, queryRequest,
		inspectRequest:
		return true
	default:
		return false
	}
}

// isMail tells whether a notice is about a message. That is durable: a run that cannot look at it now is not to forget
// it.
func isMail(m notice) bool {
	switch content(m).(type) {
	case messageArrived, lookForMail, endAwaited:
		return true
	default:
		return false
	}
}

// replyOf is where a notice about a message wants a reply; nil if nowhere.
func replyOf(m notice) chan<- error {
	switch m := m.(type) {
	case messageArrived:
		return m.reply
	case lookForMail:
		return m.reply
	case endAwaited:
		return m.reply
	default:
		return nil
	}
}

// releaseArrival gives back the memory of the notice of a message.
func releaseArrival(m notice) {
	switch m := m.(type) {
	case messageArrived:
		m.paid.Release()
	case resultSent:
		m.paid.Release()
	}
}

// refuseAll refuses all waiters for a reply to the notices: callers, and attempts that want to
// begin.
func refuseAll(notices []notice, err error) {
	for _, m := range notices {
		m = content(m)
		if of, is := m.(ofTask); is {
			if begins, is := of.report.(task.Begins); is {
				answer(begins.Reply, false)
			}
			continue
		}
		refuse(m, err)
	}
}

// refuse reports whether a caller waited for a reply. A caller whose reply was sent before, by work that then failed,
// gets no second one. An attempt that wants to begin is no caller: it waits for as long as it takes, since no one else
// asks for it.
func refuse(m notice, err error) bool {
	var reply chan<- error
	switch m := m.(type) {
	case ofRun, ofChain:
		return refuse(content(m), err)
	case started:
		m.head.discard()
		return false
	case resumeRequest:
		reply = m.reply
	case messageArrived, lookForMail, endAwaited:
		releaseArrival(m)
		if reply = replyOf(m); reply == nil {
			return false
		}
	case resultSent:
		releaseArrival(m)
		return false
	case failRequest:
		reply = m.reply
	case moveRequest:
		reply = m.reply
	case releaseRequest:
		m.done.Done()
		return true
	case inspectRequest:
		answer(m.reply, inspected{err: err})
		return true
	case queryRequest:
		answer(m.reply, queryReply{err: err})
		return true
	case waitingRequest:
		answer(m.reply, journal.Waiting{}) // it is not known
		return true
	default:
		return false
	}
	answer(reply, err)
	return true
}

// answer replies unless there is a reply already.
func answer[T any](reply chan<- T, with T) {
	select {
	case reply <- with:
	default:
	}
}

// dropReleases answers requests to give up attempts at a run that does not know them at the moment.
// They will count as lost.
func dropReleases(notices []notice) []notice {
	return slices.DeleteFunc(notices, func(m notice) bool {
		release, is := m.(releaseRequest)
		if is {
			release.done.Done()
		}
		return is
	})
}
