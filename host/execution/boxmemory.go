package execution

import (
	"slices"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal"
)

// boxMemory is the memory of the notices of messages in the boxes of runs.
//
// A run that waits for a place, rests after a failure or computes takes nothing out of its box, and ten thousand
// messages may come to its inbox meanwhile. The first few are not paid for, as in [mailMemory]. If there is no memory
// for others, nothing is lost, because the messages are in the inbox: instead of them the box holds one notice that
// more have come, and the run reads its inbox again.
type boxMemory struct{ queued *budget.Budget }

// pay pays for one more notice in a box, until that is received. It reports false if there is no memory for it, or if
// the run has its part: it must be able to issue ops. It is called with the lock of the registry, and frees nothing.
func (m boxMemory) pay(queue []notice, value int) (paid *budget.Permit, ok bool) {
	switch n := int64(len(queue)); {
	case n < keptMessages:
		return nil, true
	case n*(messageCost+maxAnnounced) >= m.queued.Total()/mailPart:
		return nil, false
	default:
		return m.queued.TryAcquire(messageCost + int64(value))
	}
}

// moreArrived is the notice that more messages have arrived than there is memory to tell of. It is posted unless there
// is one, which then tells of these as well.
func moreArrived(queue []notice, chain journal.RunID, reading uint64) (_ notice, post bool) {
	for i, m := range slices.Backward(queue) {
		of, is := m.(ofChain)
		if more, arrived := of.notice.(messageArrived); is && of.chain == chain && arrived && more.tellsOfMore() {
			more.reading = max(more.reading, reading)
			queue[i] = ofChain{chain, more}
			return nil, false
		}
	}
	return ofChain{chain, messageArrived{reading: reading}}, true
}

// moreResults is the same for results.
func moreResults(queue []notice, chain journal.RunID) (_ notice, post bool) {
	look := ofChain{chain, lookForMail{}}
	return look, !slices.Contains(queue, notice(look))
}

// dropArrivals drops the notices of messages to a run that is about to be loaded: the load reads its inbox. It may be
// refused the memory that they have, and would be again.
func dropArrivals(notices []notice) []notice {
	rest := slices.DeleteFunc(slices.Clone(notices), func(m notice) bool {
		m = content(m)
		_, result := m.(resultSent)
		arrived, is := m.(messageArrived)
		if !result && (!is || arrived.reply != nil) {
			return false
		}
		releaseArrival(m)
		return true
	})
	if len(rest) < len(notices) {
		rest = append(rest, wake{})
	}
	return rest
}
