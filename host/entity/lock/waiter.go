package lock

import "github.com/cruster/cruster/journal"

// Waiter is a caller queued for the lock of an entity.
type Waiter struct {
	// From is the step of a workflow; zero if it is a client.
	From journal.Caller
	// Operation is "lock", or the called operation.
	Operation string
	Since     int64
}

// MaxWaiters bounds how many waiters of an entity are listed.
const MaxWaiters = 50

// Waiters are the callers that wait for an entity, the first first.
type Waiters struct {
	First []Waiter // at most MaxWaiters
	Total int
}
