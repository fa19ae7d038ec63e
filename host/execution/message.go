package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// message is what a run receives.
type message interface{ isMessage() }

type (
	// started brings the row of a new execution, durable already.
	started struct{ row *journal.Execution }
	// wake says that a time has come, or that the run should look around.
	wake struct{}

	// opDone brings the outcome of an op, not journaled yet.
	opDone struct {
		step     journal.StepID
		attempts uint32
		outcome  abi.Outcome
		at       int64 // when it came to be
	}
	// attemptFailed says that an attempt of an activity failed.
	attemptFailed struct {
		step journal.StepID
		err  *abi.Error
	}
	// txCommitted brings an entry that a transaction made durable.
	txCommitted struct{ entry journal.Entry }
	// txVoid says that a reserved sequence number stays a gap.
	txVoid struct{ seq uint64 }
	// opDropped says that the host gave up on an op without an outcome. It is
	// performed again if it is still waited for.
	opDropped struct{ step journal.StepID }
	// opStuck says that the host cannot perform an op: the execution is to be paused.
	opStuck struct {
		step journal.StepID
		err  *abi.Error
	}

	// settleRequest asks for a deferred to be settled.
	settleRequest struct {
		deferred journal.Deferred
		reply    chan<- error
	}
	// interruptRequest asks for the execution to be interrupted.
	interruptRequest struct {
		interrupt journal.Interrupt
		reply     chan<- error
	}
	// resumeRequest asks for a paused execution to go on.
	resumeRequest struct{ reply chan<- error }
	// failRequest asks for a paused execution to be failed; at is when that was
	// asked, and tells the request from others.
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
	// inspectRequest asks what the execution is waiting for.
	inspectRequest struct{ reply chan<- inspected }
)

// inspected is the reply to an inspectRequest.
type inspected struct {
	Inspection
	err error
}

func (started) isMessage()          {}
func (wake) isMessage()             {}
func (opDone) isMessage()           {}
func (attemptFailed) isMessage()    {}
func (txCommitted) isMessage()      {}
func (txVoid) isMessage()           {}
func (opDropped) isMessage()        {}
func (opStuck) isMessage()          {}
func (settleRequest) isMessage()    {}
func (interruptRequest) isMessage() {}
func (resumeRequest) isMessage()    {}
func (failRequest) isMessage()      {}
func (moveRequest) isMessage()      {}
func (inspectRequest) isMessage()   {}

// refuseAll answers the callers that wait for a reply to one of the messages.
func refuseAll(messages []message, err error) {
	for _, m := range messages {
		refuse(m, err)
	}
}

// refuse reports whether a caller waited for a reply.
func refuse(m message, err error) bool {
	switch m := m.(type) {
	case settleRequest:
		m.reply <- err
	case interruptRequest:
		m.reply <- err
	case resumeRequest:
		m.reply <- err
	case failRequest:
		m.reply <- err
	case moveRequest:
		m.reply <- err
	case inspectRequest:
		m.reply <- inspected{err: err}
	default:
		return false
	}
	return true
}
