package entity

import (
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/mailbox"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/journal"
)

// message is a message to the actor of an entity.
type message interface{ isMessage() }

type (
	// arrival brings a call.
	arrival struct{ call *call.Call }
	// withdrawal says that a caller does not wait any more: see [mailbox.Mailbox.Withdraw].
	withdrawal struct {
		call   *call.Call
		waiter *call.Waiter
		reply  chan<- bool
		// unless says that it waits on if the call has come so far.
		unless call.Progress
	}
	// roomRequest asks whether the mailbox has room for a call.
	roomRequest struct {
		call  *call.Call
		reply chan<- error
	}
	// mail says that there is a message in the inbox. Position is its, if it is known.
	mail struct{ position uint64 }
	// past says that there may be messages from before the host began. Looked is called when the entity has
	// looked for them, and has nothing at work.
	past struct{ looked func() }
	// fetched brings messages of the inbox.
	fetched struct {
		page mailbox.Page
		err  error
	}
	// batchDone reports the outcome of a batch.
	batchDone struct{ batch.Result }
	// callDone reports the outcome of a call that ran beside others.
	callDone struct {
		call   *call.Call
		answer call.Answer
		// unanswered says that a message is to stay in the inbox.
		unanswered bool
		// loaded is the row that it had to read, if it did, at the generation of its beginning.
		loaded     *snapshot.Snapshot
		generation uint64
	}
	// looked says which run holds the entity, as of a generation.
	looked struct {
		lock.Look
		generation uint64
	}
	// unlocked reports that the section of a step has ended.
	unlocked struct{ step journal.Caller }
	// waitersRequest asks for the waiters of the entity.
	waitersRequest struct{ reply chan<- lock.Waiters }
	// startsDone says that the workflows in the inbox were started, or why one was not.
	startsDone struct{ err error }
	// tick says that a time has come: to look into the inbox again, or to be forgotten.
	tick struct{}
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
