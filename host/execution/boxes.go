package execution

import (
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// boxes are the boxes of runs. A run knows no more of the others.
type boxes interface {
	// Has tells whether a run is in memory.
	Has(id journal.ID) bool
	// Post puts a notice into the box of a run, which is brought into memory for it.
	Post(id journal.ID, n notice)
	// PostWith puts a notice into it that depends on those which the run has not taken out yet, and which f may
	// replace; none if f returns false.
	PostWith(id journal.ID, f func(queue []notice, present bool) (n notice, post bool))
	// PostIfAbsent does it if the run is not in memory.
	PostIfAbsent(id journal.ID, n notice)
	// Queued are the notices in a box that the run has not taken out yet.
	Queued(id journal.ID) []notice
}

// maxValuesQueued is how many messages wait for a run with their values.
const maxValuesQueued = 4

// notifier tells runs of messages in their inboxes.
type notifier struct {
	runs   boxes
	memory boxMemory
}

var _ request.Runs = notifier{}

// Arrived implements request.Runs.
func (n notifier) Arrived(to journal.ID, chain journal.RunID, a request.Arrival) {
	n.runs.PostWith(to, func(queue []notice, present bool) (notice, bool) {
		if !present || len(queue) >= maxValuesQueued {
			a.Message.Value = nil
		}
		arrived := arrivalOf(a.Message, a.Reading, a.Reply)
		if a.Reply != nil { // its caller waits, and has paid
			return ofChain{chain, arrived}, true
		}
		var ok bool
		if arrived.paid, ok = n.memory.pay(queue, len(arrived.message.Value)); ok {
			return ofChain{chain, arrived}, true
		}
		return moreArrived(queue, chain, a.Reading)
	})
}

// EnsureInMemory implements request.Runs.
func (n notifier) EnsureInMemory(id journal.ID) { n.runs.PostIfAbsent(id, wake{}) }

// LookForMail implements request.Runs.
func (n notifier) LookForMail(to journal.ID, chain journal.RunID, reply chan<- error) {
	n.runs.Post(to, ofChain{chain, lookForMail{reply}})
}
