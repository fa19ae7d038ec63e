package request

import (
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// Actors are the entities. A message brings an entity into memory.
type Actors interface {
	// Arrive hands a call to its entity.
	Arrive(c *call.Call)
	// Mail says that there is a message in an inbox; position is 0 if it is not known.
	Mail(id journal.ID, position uint64)
	// Room tells whether the mailbox of an entity has room for a durable call.
	Room(c *call.Call) <-chan error
	// Withdraw says that a caller does not wait any more. It tells whether its call has been accepted: it has run,
	// runs, or will. To a caller that waits on if the call has come far, it tells whether it does.
	Withdraw(c *call.Call, w *call.Waiter, unless call.Progress) <-chan bool
}
