package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
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

	// opDone brings the outcome of an op, not journaled yet.
	opDone struct {
		step     journal.StepID
		attempts uint32
		outcome  abi.Outcome
		at       int64 // when it came to be
	}
	// resultSent brings the result of a callee, which is in the inbox.
	resultSent struct{ message journal.Message }
	// lookForMail says that there are results, or requests to stop, in the inbox. The reply, if one
	// is waited for, comes when the execution has ended.
	lookForMail struct{ reply chan<- error }
	// endAwaited asks for a reply at the end of the execution, which was requested before.
	endAwaited struct{ reply chan<- error }
	// calleeOver says how a callee has ended.
	calleeOver struct{ ledger.Result }
	// opAwaits says that a callee will send its result, or an entity its answer: the host has nothing to do for the op.
	opAwaits struct{ step journal.StepID }
	// attemptFailed says that an attempt of an activity failed.
	attemptFailed struct {
		step journal.StepID
		err  *abi.Error
	}
	// txCommitted brings an entry that a transaction made durable.
	txCommitted struct{ entry journal.Entry }
	// txVoid says that a reserved sequence number stays a gap.
	txVoid struct{ seq uint64 }
	// opDropped says that the host gave up on an op without an outcome. It is performed again if it is still waited
	// for.
	opDropped struct{ step journal.StepID }
	// taskFault says that the host panicked while it performed an op. If seq is not 0 a transaction
	// had reserved it, and only the journal tells its outcome.
	taskFault struct {
		step  journal.StepID
		seq   uint64
		fault *hostFault
	}
	// opStuck says that the host cannot perform an op: the execution is to be paused.
	opStuck struct {
		step journal.StepID
		err  *abi.Error
	}

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

// inspected is the reply to an inspectRequest.
type inspected struct {
	Inspection
	err error
}

func (started) isNotice()        {}
func (wake) isNotice()           {}
func (soon) isNotice()           {}
func (opDone) isNotice()         {}
func (resultSent) isNotice()     {}
func (lookForMail) isNotice()    {}
func (messageArrived) isNotice() {}
func (endAwaited) isNotice()     {}
func (calleeOver) isNotice()     {}
func (opAwaits) isNotice()       {}
func (attemptFailed) isNotice()  {}
func (txCommitted) isNotice()    {}
func (txVoid) isNotice()         {}
func (opDropped) isNotice()      {}
func (opStuck) isNotice()        {}
func (taskFault) isNotice()      {}
func (resumeRequest) isNotice()  {}
func (failRequest) isNotice()    {}
func (moveRequest) isNotice()    {}
func (waitingRequest) isNotice() {}
func (queryRequest) isNotice()   {}
func (inspectRequest) isNotice() {}

// addressedElsewhere tells why a notice is not for a run of a chain; nil if it is.
func addressedElsewhere(m notice, run, chain journal.RunID) error {
	switch of := m.(type) {
	case ofRun:
		if of.run != run {
			return request.RunGone()
		}
	case ofChain:
		if of.chain != chain {
			return request.ChainGone()
		}
	}
	return nil
}

// content is a notice without its address.
func content(m notice) notice {
	switch of := m.(type) {
	case ofRun:
		return of.notice
	case ofChain:
		return of.notice
	default:
		return m
	}
}

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

// refuseAll refuses all waiters for a reply to the notices: callers, and attempts that want to
// begin.
func refuseAll(notices []notice, err error) {
	for _, m := range notices {
		m = content(m)
		if begins, is := m.(attemptBegins); is {
			answer(begins.reply, false)
			continue
		}
		refuse(m, err)
	}
}

// refuse reports whether a caller waited for a reply. One that has been answered before, by work that then failed, is
// not answered again. An attempt that wants to begin is no caller: it waits for as long as it takes, since no one else
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
		if reply = replyOf(m); reply == nil {
			return false
		}
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
