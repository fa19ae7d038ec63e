package wasm

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"time"
)

// # Sharing the cores
//
// Native guest code occupies a processor of Go's scheduler. The scheduler takes it away after ten milliseconds, and
// puts the goroutine behind all others that want to run. So with 64 guests that compute, everything else waits for 64
// turns of ten milliseconds whenever it has waited for anything: for a message of the network, a commit, a lock. A call
// takes tens of such waits, and the host stands still although it runs. And as long as there is always a guest to run,
// the network is polled every ten milliseconds only.
//
// So guests are not left to the scheduler alone:
//
//   - A guest yields after yieldEvery of computing. Whatever else can run does so first.
//   - A guest that has computed for freeTime in one call goes on only in one of a few places, one
//     fewer than there are processors. So there is always a processor that polls the network
//     and runs the host, however many guests compute. It leaves its place after quantum
//     to the waiting guests, in order; and while it waits for the host.
//
// Ordinary turns, which take microseconds, never come to either.
const (
	yieldEvery = 200 * time.Microsecond
	freeTime   = 10 * time.Millisecond
	quantum    = 5 * time.Millisecond
)

// cores are the places of guests that compute for long.
type cores struct {
	places  chan struct{} // holds an item for each place that is taken
	waiting atomic.Int64
}

func newCores() *cores { return &cores{places: make(chan struct{}, max(1, goruntime.GOMAXPROCS(0)-1))} }

// take waits for a place; places are given in order of arrival. It reports false if the call or the
// runtime ends before.
func (c *cores) take(call, life context.Context) bool {
	select {
	case c.places <- struct{}{}:
		return true
	default:
	}
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	select {
	case c.places <- struct{}{}:
		return true
	case <-call.Done():
	case <-life.Done():
	}
	return false
}

func (c *cores) leave() { <-c.places }

// computing is the processor time of a guest in the call under way.
type computing struct {
	total   time.Duration
	yielded time.Duration // how much it was when the guest yielded last
	placed  bool          // it has a place
	since   time.Duration // how much it was when it got the place
}

// shareCores has a guest that computes leave room for others. The slice is the time of its last one. It reports whether
// others may have run meanwhile.
func (i *Instance) shareCores(ctx context.Context, slice time.Duration) (shared bool) {
	c := &i.computing
	c.total += min(slice, longSlice) // it may have waited for the host in it
	if c.total-c.yielded < yieldEvery {
		return false
	}
	c.yielded = c.total
	i.stopWatching()
	r := i.module.runtime
	if c.placed && c.total-c.since >= quantum && r.cores.waiting.Load() > 0 {
		i.leaveCore()
	}
	if c.total >= freeTime && !c.placed {
		c.placed, c.since = r.cores.take(ctx, r.life), c.total
	} else {
		goruntime.Gosched()
	}
	return true
}

// leaveCore gives up the place of a guest, if it has one: the call has ended, or waits for the
// host.
func (i *Instance) leaveCore() {
	if i.computing.placed {
		i.computing.placed = false
		i.module.runtime.cores.leave()
	}
}
