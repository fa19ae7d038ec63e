package execution

import (
	"context"
	"sync"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/journal"
)

// notice is an item in the box of a run: an outcome, a time that has come, a request. A message
// sent to a workflow is in one of them: see host/message.
type notice interface{ isNotice() }

type (
	// ofRun is a notice that is meant for one run, and for no other that has or will have the same
	// name: a task of a finished run may end much later, and a caller may have looked at a run that
	// retention then deleted.
	ofRun struct {
		run journal.RunID
		notice
	}

	// ofChain is a notice for a run or its continuations: requests of callers.
	ofChain struct {
		chain journal.RunID
		notice
	}

	// started brings the row of a new execution, durable already, and its first turn, if that was begun meanwhile. The
	// receiver takes the turn over or discards it.
	started struct {
		row      *journal.Execution
		head     *eagerStart       // or nil
		received []journal.Message // that came with the start
		input    *budget.Permit    // of its input; or nil
	}
	// wake says that a time has come, or that the run should look around.
	wake struct{}
	// soon says that a time is about to come.
	soon struct{}

	// resultSent brings the result of a callee, which is in the inbox.
	resultSent struct {
		message journal.Message
		paid    *budget.Permit // of the notice; or nil
	}
	// lookForMail says that there are results, or requests to stop, in the inbox. The reply, if one
	// is waited for, comes when the execution has ended.
	lookForMail struct{ reply chan<- error }
	// endAwaited asks for a reply at the end of the execution, which was requested before.
	endAwaited struct{ reply chan<- error }
	// ofTask is the report of a task.
	ofTask struct{ report task.Report }

	// resumeRequest asks for a paused execution to go on.
	resumeRequest struct{ reply chan<- error }
	// failRequest asks for a paused execution to be failed; at is when that was asked, and tells the request from
	// others.
	failRequest struct {
		reason string
		at     int64
		reply  chan<- error
	}
	// moveRequest asks for the execution to go on with another module.
	moveRequest struct {
		digest string
		reply  chan<- error
	}
	// waitingRequest asks for the steps that the execution waits for.
	waitingRequest struct{ reply chan<- journal.Waiting }
	// queryRequest asks the workflow a question. The answer is of no use once caller is done.
	queryRequest struct {
		caller context.Context
		query  abi.Query
		reply  chan<- queryReply
	}
	// inspectRequest asks for the state of the execution.
	inspectRequest struct{ reply chan<- inspected }
)

func (started) isNotice()        {}
func (wake) isNotice()           {}
func (soon) isNotice()           {}
func (ofTask) isNotice()         {}
func (resultSent) isNotice()     {}
func (lookForMail) isNotice()    {}
func (messageArrived) isNotice() {}
func (endAwaited) isNotice()     {}
func (resumeRequest) isNotice()  {}
func (failRequest) isNotice()    {}
func (moveRequest) isNotice()    {}
func (waitingRequest) isNotice() {}
func (queryRequest) isNotice()   {}
func (releaseRequest) isNotice() {}
func (inspectRequest) isNotice() {}

// messageArrived brings a message that was put into the inbox of the chain. A large value stays in
// the store; one without a position is there, and may have been there before. Reading is the last
// of any inbox that began before the message was put: see [request.InboxLocks]. The reply, to a request to
// stop if one is waited for, comes when the execution has ended. One without
// a message says that more have come than the box has notices of: see [boxMemory].
type messageArrived struct {
	message journal.Message
	reading uint64
	reply   chan<- error   // or nil
	paid    *budget.Permit // of the notice; or nil
}

// tellsOfMore tells whether a notice says that more messages have come.
func (m messageArrived) tellsOfMore() bool { return m.message.Kind == "" }

// releaseRequest has a run say in the journal that it gives up the attempts that it has begun.
type releaseRequest struct{ done *sync.WaitGroup }

// queryReply is the reply to a queryRequest.
type queryReply struct {
	outcome abi.Outcome
	err     error
}

// maxAnnounced bounds a result that callers are handed along with the notice of it. Others they read from their inbox:
// a caller may have thousands of callees that end at once.
const maxAnnounced = 1 << 10

// arrivalOf is the notice of a message. The call of the sender has paid for a large value, and the box of a run has
// none: see [boxMemory].
func arrivalOf(m journal.Message, reading uint64, reply chan<- error) messageArrived {
	if m.Bytes > maxAnnounced {
		m.Value = nil
	}
	return messageArrived{message: m, reading: reading, reply: reply}
}
