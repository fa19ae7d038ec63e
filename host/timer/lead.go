package timer

import (
	"container/heap"
	"time"
)

// Ahead is how long before its time an execution is announced, so that it can be brought into memory. It is many times
// as long as that takes on a host that has time for it.
const Ahead = 25 * time.Millisecond

// MaxLead is the longest time before its own that an execution is announced. Where many are due at about the same time
// the host could not bring in all of them in so short a while as [Ahead]: they are announced one after the other, each
// by spacing earlier than the one before. That is about the time that a processor needs to bring in one.
const MaxLead = 2 * time.Second

// quietPeriod is how long after a time that has come nothing is announced, as far as there is time for that: to bring
// an execution in would take the processor from the due one.
const quietPeriod = 3 * time.Millisecond

const (
	slotWidth = int64(Ahead)
	spacing   = time.Millisecond
)

// slots counts the timers by their time, in slots of equal width.
type slots map[int64]int

// add counts a timer in, and tells how long before its time it is announced.
func (s slots) add(at int64) (lead time.Duration) {
	slot := at / slotWidth
	lead = min(Ahead+time.Duration(s[slot])*spacing, MaxLead)
	s[slot]++
	return lead
}

// remove counts a timer out.
func (s slots) remove(at int64) {
	slot := at / slotWidth
	if s[slot]--; s[slot] == 0 {
		delete(s, slot)
	}
}

// postponeLocked has an announcement wait for a quiet period after the last fired item, and reports
// whether it does.
func (h *Heap) postponeLocked(it *item, now int64) bool {
	until := h.firedAt + int64(quietPeriod)
	if now >= until || it.at-until < int64(Ahead)/2 {
		return false
	}
	it.announced, it.lead = false, time.Duration(it.at-until)
	heap.Fix(&h.items, it.index)
	return true
}
