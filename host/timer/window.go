package timer

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/cruster/cruster/journal"
)

// Of executions that are not in memory the heap holds those due in a window of time, and no more than [MaxLeft]. The
// store holds all of them, by their time, and is read again before the window ends.
//
// Invariant: every execution that is not in memory and due before the end of the window has a timer, or a reader of the
// store that has opened the window is on its way to it.
//
// So the end is moved out before the store is read ([Heap.Open]), and an execution leaves memory with its time in the
// store before it asks whether that is within the window ([Heap.Leave]): one of the two sees the other. Where more are
// due than the heap may hold, the latest are dropped and the window ends with the first of them.
//
// Timers of executions in memory are never dropped: the store may have an earlier time for them, and knows nothing of
// the right one.

// MaxLeft bounds the timers of executions that are not in memory. Each takes about a hundred bytes.
const MaxLeft = 1 << 16

// Open moves the end of the window. The caller then reads the store up to it, and hands its findings to [Heap.Fill].
func (h *Heap) Open(until int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until, h.cut = until, false
}

// Fill sets the timer of an execution that was found in the store, unless it has one. It reports false if it is beyond
// the window, which more timers than there may be have cut short: then there is no use in reading on.
func (h *Heap) Fill(id journal.ID, at int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at >= h.until {
		return false
	}
	if h.byID[id] == nil {
		h.setLocked(id, at)
		h.leaveLocked(id)
	}
	return true
}

// Leave says that an execution leaves memory, and that the store has the time at which it is to be woken. If that is
// far away the store alone has it from now on.
func (h *Heap) Leave(id journal.ID, at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end := h.until
	if !h.cut {
		// A scan that takes long has opened the window long ago.
		end = max(end, h.clock.Now().Add(Horizon).UnixNano())
	}
	if at >= end {
		at = journal.Never
	}
	h.setLocked(id, at)
	h.leaveLocked(id)
}

// NextFill is when the store is to be read again because the window was cut short: [journal.Now] once there is room, or
// else the end of the window. It is [journal.Never] if it was not cut.
func (h *Heap) NextFill() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.cut:
		return journal.Never
	case h.left <= h.maxLeft/4:
		return journal.Now
	default:
		return h.until
	}
}

// leaveLocked notes that the store has the time of an execution.
func (h *Heap) leaveLocked(id journal.ID) {
	it := h.byID[id]
	if it == nil || it.left {
		return
	}
	it.left = true
	h.left++
	if h.left > h.maxLeft {
		h.cutLocked()
	}
}

// cutLocked drops the later half of the times that the store has.
func (h *Heap) cutLocked() {
	left := make([]*item, 0, h.left)
	for _, it := range h.items {
		if it.left {
			left = append(left, it)
		}
	}
	slices.SortFunc(left, func(a, b *item) int { return cmp.Compare(a.at, b.at) })
	drop := left[len(left)/2:]
	h.until, h.cut = min(h.until, drop[0].at), true
	for _, it := range drop {
		h.forgetLocked(it)
	}
	h.items = slices.DeleteFunc(h.items, func(it *item) bool { return h.byID[it.id] != it })
	for i, it := range h.items {
		it.index = i
	}
	heap.Init(&h.items)
}

// forgetLocked takes a timer out of all but the heap itself.
func (h *Heap) forgetLocked(it *item) {
	delete(h.byID, it.id)
	h.slots.remove(it.at)
	if it.left {
		h.left--
	}
}
