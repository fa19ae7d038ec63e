package execution

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/journal"
)

// doors order what senders put into inboxes and what runs do that must not happen beside that: to read the inbox, and
// to end. There is a door for each execution that somebody is at.
//
// A sender goes through the door with others, with its commit and with the word to the run; a run shuts it. So a run that has
// read its inbox knows of each message whose sender went through before, and is told of each whose sender goes through
// later: which of them it is the number of the reading tells, which is the last that there was. And a message is in front of
// the end of its run, and known to it, or is refused.
type doors struct {
	mu       sync.Mutex
	all      map[journal.ID]*door // guarded by mu
	readings uint64               // guarded by mu; counts them, of all executions
}

type door struct {
	way  *semaphore.Weighted
	uses int // guarded by the mu of the doors; by those who go through, have it shut or wait for that
}

// allOfIt is what shutting a door takes; going through takes 1.
const allOfIt = math.MaxInt64

// at is the door of an execution. The caller leaves it.
func (d *doors) at(id journal.ID) *door {
	d.mu.Lock()
	defer d.mu.Unlock()
	there := d.all[id]
	if there == nil {
		if d.all == nil {
			d.all = map[journal.ID]*door{}
		}
		there = &door{way: semaphore.NewWeighted(allOfIt)}
		d.all[id] = there
	}
	there.uses++
	return there
}

func (d *doors) leave(id journal.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if there := d.all[id]; there.uses > 1 {
		there.uses--
	} else {
		delete(d.all, id)
	}
}

func (d *doors) acquire(ctx context.Context, id journal.ID, n int64) (release func(), err error) {
	there := d.at(id)
	if err := there.way.Acquire(ctx, n); err != nil {
		d.leave(id)
		return nil, err
	}
	return func() {
		there.way.Release(n)
		d.leave(id)
	}, nil
}

// enter goes through the door of an execution, once it is not shut. Reading is the last one there was.
func (d *doors) enter(ctx context.Context, id journal.ID) (reading uint64, leave func(), err error) {
	leave, err = d.acquire(ctx, id, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.readings, leave, err
}

// shut shuts the door of an execution, once everybody is through.
func (d *doors) shut(ctx context.Context, id journal.ID) (open func(), err error) {
	return d.acquire(ctx, id, allOfIt)
}

// tryShut shuts the door if nobody is at it.
func (d *doors) tryShut(id journal.ID) (open func(), shut bool) {
	there := d.at(id)
	if !there.way.TryAcquire(allOfIt) {
		d.leave(id)
		return nil, false
	}
	return func() {
		there.way.Release(allOfIt)
		d.leave(id)
	}, true
}

// read shuts the door for a reading of the inbox, which has a number of its own.
func (d *doors) read(ctx context.Context, id journal.ID) (reading uint64, open func(), err error) {
	open, err = d.shut(ctx, id)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readings++
	return d.readings, open, err
}
