package entity

import (
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/mailbox"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/journal"
)

// entity is an entity in memory: see the package comment. All of it belongs to the actor's
// goroutine; there is at most one. It never waits.
type entity struct {
	workers *workers
	id      journal.ID

	mailbox *mailbox.Mailbox // the calls that wait
	batch   []*call.Call     // the calls of the queue that are at work
	running int              // calls that run concurrently
	reading pause            // of the inbox, and of messages that are tried again
	wary    int              // batches that look for receipts of all their calls first
	starts  starting

	state      snapshot.Cache
	generation uint64       // counts the events that may outdate a row under way from the store
	holding    lock.Holding // the holder of its lock

	looked  func() // is called when nothing is at work; or nil
	usedAt  int64
	timerAt int64 // 0 if there is no timer
	idle    bool  // it may be forgotten
}

// newEntity makes an entity that knows nothing of its rows yet. Past says that there may be messages from before the
// host began.
func newEntity(w *workers, id journal.ID, past bool) *entity {
	e := &entity{
		workers: w,
		id:      id,
		mailbox: mailbox.New(w.metrics, w.idleTime),
		starts:  starting{misfits: map[uint64]int{}},
		state:   snapshot.Cache{Budget: w.queued, Off: w.evictAlways},
		holding: lock.NewHolding(id, &w.holders),
	}
	if past {
		e.mailbox.LookBack()
	}
	return e
}

// begin starts a task and receives its report. It returns false if the host starts no more tasks.
func (e *entity) begin(places *actor.FairQueue[journal.ID], task func() message) bool {
	return e.workers.begin(e.id, places, task)
}

// retryLater has the inbox, and messages that were tried, left alone for a while.
func (e *entity) retryLater(doing string, err error) { e.workers.setback(&e.reading, e.id, doing, err) }

// end answers one call. A message without an answer stays in the inbox.
func (e *entity) end(c *call.Call, answers map[*call.Call]call.Answer, err error) {
	c.AtWork = false
	a, answered := answers[c]
	if answered {
		e.mailbox.Answered(c, a.Parked)
	} else {
		e.mailbox.Forget(c)
		a.Err = journal.Coded("call "+c.Ref.String(), err)
	}
	e.workers.metrics.Observe(c.Kind.String(), a)
	c.Reply(a)
}
