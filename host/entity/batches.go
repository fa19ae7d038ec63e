package entity

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// beginBatch has the next batch performed, unless one is.
func (e *entity) beginBatch() {
	if len(e.batch) > 0 {
		return
	}
	if e.batch = e.takeBatch(); len(e.batch) == 0 {
		return
	}
	for _, c := range e.batch {
		c.BeginWork()
		c.Refused, c.Misfits = e.holding.Allows(c), e.misfits[c.Position]
		e.unqueue(c)
		if c.Kind == call.Lock {
			e.holding.Begin(c.From)
		}
	}
	e.generation++
	job := batch.Job{
		ID: e.id, Name: e.name, Calls: e.batch, State: e.state.Snapshot(),
		Wary: e.wary > 0, Lock: e.holding.Lock(), Leftover: e.holding.Leftover(),
	}
	if !e.begin(e.entities.working, func() message { return batchDone{e.entities.batches.Perform(job)} }) {
		e.endBatch(batch.Result{Err: e.entities.Host.EndReason(), State: e.state.Snapshot()})
	}
}

// takeBatch takes the next batch out of the queue.
func (e *entity) takeBatch() (next []*call.Call) {
	if e.holding.Lock() != nil {
		next, e.queue = call.TakePassing(e.queue, func(c *call.Call) bool {
			return e.holding.MayPass(c) || e.holding.Allows(c) != nil
		})
		return next
	}
	n := e.cutMisfits(call.CutBatch(e.queue, e.seen))
	next, e.queue = e.queue[:n:n], e.queue[n:]
	return next
}

// waryBatches is for how many batches an entity looks up all calls first: see batch/receipts.go.
const waryBatches = 8

// endBatch answers the calls of a batch.
func (e *entity) endBatch(res batch.Result) {
	e.generation++
	e.barren = false
	e.state.Keep(res.State)
	if e.wary = max(e.wary-1, 0); res.Surprised {
		e.wary = waryBatches
	}
	done := e.putBack(e.batch, res.Others, res.Apart)
	e.batch = nil
	e.endLock(done, res)
	for _, c := range done {
		e.end(c, res.Answers, res.Err)
	}
	if res.Err == nil && res.Left == nil {
		e.reading.failures = 0
	}
	e.countMisfits(done, res)
	e.readAgain(done, res)
	e.starts = e.starts || res.Starts
	for _, id := range res.Woken {
		e.entities.actors.Post(id, mail{})
	}
}

// putBack puts calls of a batch back into the queue, where they were, each to have a batch of its own if
// they are to be apart. It returns the rest of the batch.
func (e *entity) putBack(calls, others []*call.Call, apart bool) []*call.Call {
	for _, c := range others {
		c.AtWork, c.Apart = false, c.Apart || apart
		e.know(c)
	}
	e.queue = slices.Concat(others, e.queue)
	return slices.DeleteFunc(slices.Clone(calls), func(c *call.Call) bool { return slices.Contains(others, c) })
}

// end answers one call. A message without an answer stays in the inbox.
func (e *entity) end(c *call.Call, answers map[*call.Call]call.Answer, err error) {
	c.AtWork = false
	e.forget(c)
	a, answered := answers[c]
	if answered && e.fetching && c.Position != 0 {
		e.taken[c.Position] = true
	}
	if !answered {
		a.Err = journal.Coded("call "+c.Ref.String(), err)
	} else if c.LeavesReceipt() && !a.Parked {
		e.recent.add(c.Origin)
	}
	if a.Parked {
		e.hear(c.Position) // a retry may have put it back already: a page with it was taken for an old one
	}
	e.entities.metrics.Observe(c.Kind.String(), a)
	c.Reply(a)
}

// readAgain rereads the messages of a batch that are still in the inbox. If some were not
// performed, all behind the lowest of them are: queued messages would overtake it. It need not be
// the first of the batch: a call joined with a later message of its origin has the later position.
func (e *entity) readAgain(done []*call.Call, res batch.Result) {
	if res.Left != nil {
		e.unread = true
		e.setback(&e.reading, "take out messages that were performed before", res.Left)
	}
	var first *call.Call
	for _, c := range done {
		if _, answered := res.Answers[c]; c.Position != 0 && !answered &&
			(first == nil || c.Position < first.Position) {
			first = c
		}
	}
	if first == nil {
		return
	}
	e.unread, e.seen = true, min(e.seen, first.Position-1)
	e.setback(&e.reading, "perform "+first.Operation+" of "+first.Ref.String(), res.Err)
	e.queue = slices.DeleteFunc(e.queue, func(c *call.Call) bool {
		if c.Position <= first.Position {
			return false
		}
		e.entities.metrics.Queued.Dec()
		e.end(c, nil, res.Err)
		return true
	})
}

// countMisfits counts how often each message of the inbox has failed for a reason that does not pass. A
// missing type concerns all messages of a batch, so they are tried together, and parked together. A host
// fault may be on account of one: the messages of its batch are tried one by one from then on.
func (e *entity) countMisfits(done []*call.Call, res batch.Result) {
	misfit := res.Err != nil && !abi.IsTransient(res.Err)
	for _, c := range done {
		_, answered := res.Answers[c]
		switch {
		case answered:
			delete(e.misfits, c.Position)
		case misfit && c.Position != 0:
			e.misfits[c.Position]++
		}
	}
	if res.GaveUp {
		e.reading.failures = 0
	}
	e.faulty = (e.faulty || res.Fault) && len(e.misfits) > 0
}

// cutMisfits shortens a batch of the next n calls, if the host has failed at one of their messages: such a
// message is alone in its batch, so that the attempts of the others are not used up.
func (e *entity) cutMisfits(n int) int {
	if !e.faulty {
		return n
	}
	if i := slices.IndexFunc(e.queue[:n], func(c *call.Call) bool { return e.misfits[c.Position] > 0 }); i >= 0 {
		return max(i, 1)
	}
	return n
}

// forgetMisfits forgets the attempts of messages that are not in the inbox, all of which are in
// memory. The commit that parked a message may have lost its answer, and a retry has all attempts
// again.
func (e *entity) forgetMisfits() {
	maps.DeleteFunc(e.misfits, func(position uint64, _ int) bool { return e.positions[position] == nil })
}
