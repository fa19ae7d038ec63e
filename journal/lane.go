package journal

import (
	"runtime"
	"slices"
	"sync"
)

// lane is a queue of writes and its batches in flight.
//
// Invariant: no two batches under way have writes of the same execution, and writes of one execution are taken in the
// order in which they were added.
type lane struct {
	maxBatch, maxBytes int

	mu       sync.Mutex
	changed  *sync.Cond      // with mu: there may be something to take, or it was stopped
	queue    []*pendingWrite // guarded by mu, like all below
	underWay map[ID]struct{} // executions of the batches that were taken and are not decided
	answered int             // writes of the batch that was decided last
	stopped  bool
}

func newLane(maxBatch, maxBytes int) *lane {
	l := &lane{maxBatch: maxBatch, maxBytes: maxBytes, underWay: map[ID]struct{}{}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// add queues a write; false if the lane was stopped.
func (l *lane) add(p *pendingWrite) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.queue = append(l.queue, p)
	l.changed.Signal()
	return true
}

// withdraw takes p out of the queue; false if it is on its way already.
func (l *lane) withdraw(p *pendingWrite) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue, p)
	if i < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	l.changed.Broadcast() // it may have been the last that a stopped lane waited for
	return true
}

func (l *lane) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}

func (l *lane) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.changed.Broadcast()
}

// take waits for writes and takes the next batch, which has to be reported as decided. It is empty if the lane was
// stopped and has none left.
func (l *lane) take() []*pendingWrite {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		l.stepBackLocked()
		if batch := l.cutLocked(); len(batch) > 0 || l.stopped && len(l.queue) == 0 {
			return batch
		}
		l.changed.Wait()
	}
}

// stepBackLocked lets others run as long as that brings writes, up to as many as were answered last: see Committer. It
// releases the mutex meanwhile.
func (l *lane) stepBackLocked() {
	for before := -1; before < len(l.queue) && len(l.queue) < l.answered; {
		before = len(l.queue)
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
}

// cutLocked cuts the next batch off the head of the queue, past the writes of executions that are under way.
func (l *lane) cutLocked() []*pendingWrite {
	ready := l.queue
	if len(l.underWay) > 0 {
		ready = slices.DeleteFunc(slices.Clone(l.queue), l.isUnderWay)
	}
	n := cutBatch(func(yield func(int) bool) {
		for _, p := range ready {
			if !yield(p.write.Size()) {
				return
			}
		}
	}, l.maxBatch, l.maxBytes)
	batch := slices.Clone(ready[:n])
	for _, p := range batch {
		p.taken = true
		l.underWay[p.write.ID] = struct{}{}
	}
	l.queue = slices.DeleteFunc(l.queue, func(p *pendingWrite) bool { return p.taken })
	if n > 0 && len(l.queue) > 0 {
		l.changed.Signal() // for another one
	}
	return batch
}

func (l *lane) isUnderWay(p *pendingWrite) bool {
	_, underWay := l.underWay[p.write.ID]
	return underWay
}

// decided says that every write of a batch was answered.
func (l *lane) decided(batch []*pendingWrite) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range batch {
		delete(l.underWay, p.write.ID)
	}
	l.answered = len(batch)
	if l.stopped {
		l.changed.Broadcast()
	}
}
