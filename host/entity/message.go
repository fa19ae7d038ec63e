package entity

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// message is a message to the actor of an entity.
type message interface{ isMessage() }

type (
	// arrival brings a call.
	arrival struct{ call *call }
	// withdrawal says that a caller does not wait any more. The reply tells whether its call has
	// been accepted: it has run, runs, or will. To a caller that waits on if the call has come far,
	// it tells whether it does.
	withdrawal struct {
		call   *call
		waiter *waiter
		reply  chan<- bool
		// unless says that it waits on if the call has come so far.
		unless progress
	}
	// progress is how far a call has come.
	progress int
	// roomRequest asks whether the mailbox has room for a call.
	roomRequest struct {
		call  *call
		reply chan<- error
	}
	// mail says that there is a message in the inbox. Position is its, if it is known.
	mail struct{ position uint64 }
	// past says that there may be messages from before the host began. Looked is called when the entity has
	// looked for them, and has nothing at work.
	past struct{ looked func() }
	// fetched brings messages of the inbox.
	fetched struct {
		page
		err error
	}
	// batchDone reports the outcome of a batch.
	batchDone struct{ batchResult }
	// callDone reports the outcome of a call that ran beside others.
	callDone struct {
		call   *call
		answer answer
		// unanswered says that a message is to stay in the inbox.
		unanswered bool
		// loaded is the row that it had to read, if it did, at the generation of its beginning.
		loaded     *snapshot
		generation uint64
	}
	// looked says which run holds the entity.
	looked struct {
		lock *journal.Lock // or nil
		held bool          // the holder is in its section
		// state is the entity's state as of a generation, if it had to be read.
		state      *snapshot
		generation uint64
		err        error
	}
	// unlocked reports that the section of a step has ended.
	unlocked struct{ step journal.Caller }
	// waitersRequest asks who waits for the entity.
	waitersRequest struct{ reply chan<- waitersReply }
	waitersReply   struct {
		waiters []Waiter
		total   int
	}
	// startsDone says that the workflows in the inbox were started, or why one was not.
	startsDone struct{ err error }
	// tick says that a time has come: to look into the inbox again, or to be forgotten.
	tick struct{}
)

const (
	_          progress = iota
	isAccepted          // it has run, runs, or will
	isAtWork            // it has run, or runs
)

func (arrival) isMessage()        {}
func (withdrawal) isMessage()     {}
func (roomRequest) isMessage()    {}
func (mail) isMessage()           {}
func (past) isMessage()           {}
func (fetched) isMessage()        {}
func (batchDone) isMessage()      {}
func (callDone) isMessage()       {}
func (looked) isMessage()         {}
func (unlocked) isMessage()       {}
func (waitersRequest) isMessage() {}
func (startsDone) isMessage()     {}
func (tick) isMessage()           {}

// parcel is the value of a message in the inbox of an entity. It names the receiver: the
// inbox knows it by its id alone. The fields are in the order of their names.
type parcel struct {
	// Awaited says that a caller is told the outcome.
	Awaited bool `msgpack:"awaited,omitempty"`
	// Call is the workflow to be started, of a message of kind start.
	Call *abi.Call `msgpack:"call"`
	// Entity is "deployment/Name/id".
	Entity string `msgpack:"entity"`
	// Input of the operation, of a message of kind call.
	Input     []byte `msgpack:"input"`
	Namespace string `msgpack:"namespace"`
	// ReplyTo is the chain of runs of the workflow that is sent the answer: see leave.go; nil if none is.
	ReplyTo *journal.RunID `msgpack:"reply_to,omitempty"`
}

func (p *parcel) ref() (Ref, error) { return RefOf(p.Namespace, p.Entity) }

// posted makes a message of a parcel.
func posted(e journal.Envelope, from journal.Caller, p parcel) journal.Message {
	value := abi.MustMarshal(&p)
	e.Bytes, e.From = len(value), from
	return journal.Message{Envelope: e, Value: value}
}
