package entity

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/call"
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
		c.Refused = e.holding.Allows(c)
		if c.Kind == call.Lock {
			e.holding.Begin(c.From)
		}
	}
	e.generation++
	job := batch.Job{
		ID: e.id, Name: e.mailbox.Limits().Name, Calls: e.batch, State: e.state.Snapshot(),
		Wary: e.wary > 0, Lock: e.holding.Lock(), Leftover: e.holding.Leftover(),
	}
	if !e.begin(e.workers.working, func() message { return batchDone{e.workers.batches.Perform(job)} }) {
		e.endBatch(batch.Result{Err: e.workers.host.EndReason(), State: e.state.Snapshot()})
	}
}

// takeBatch takes the next batch out of the queue.
func (e *entity) takeBatch() []*call.Call {
	if e.holding.Lock() == nil {
		return e.mailbox.TakeBatch()
	}
	return e.mailbox.TakePassing(func(c *call.Call) bool { return e.holding.MayPass(c) || e.holding.Allows(c) != nil })
}

// waryBatches is for how many batches an entity looks up all calls first: see batch/receipts.go.
const waryBatches = 8

// endBatch answers the calls of a batch.
func (e *entity) endBatch(res batch.Result) {
	e.generation++
	e.mailbox.TaskEnded()
	e.state.Keep(res.State)
	if e.wary = max(e.wary-1, 0); res.Surprised {
		e.wary = waryBatches
	}
	e.mailbox.PutBack(res.Others, res.Apart)
	done := slices.DeleteFunc(
		slices.Clone(e.batch), func(c *call.Call) bool { return slices.Contains(res.Others, c) },
	)
	e.batch = nil
	e.endLock(done, res)
	for _, c := range done {
		e.end(c, res.Answers, res.Err)
	}
	if res.Err == nil && res.Left == nil || res.GaveUp {
		e.reading.failures = 0
	}
	e.mailbox.CountAttempts(done, res.Answers, res.Err != nil && !abi.IsTransient(res.Err), res.Fault)
	e.readAgain(done, res)
	e.starts.wanted = e.starts.wanted || res.Starts
	for _, id := range res.Woken {
		e.workers.post.Mail(id, 0)
	}
}

// readAgain rereads the messages of a batch that are still in the inbox. If some were not
// performed, all behind the lowest of them are: queued messages would overtake it. It need not be
// the first of the batch: a call joined with a later message of its origin has the later position.
func (e *entity) readAgain(done []*call.Call, res batch.Result) {
	if res.Left != nil {
		e.mailbox.Unread()
		e.retryLater("take out messages that were performed before", res.Left)
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
	e.retryLater("perform "+first.Operation+" of "+first.Ref.String(), res.Err)
	for _, c := range e.mailbox.GoBack(first.Position) {
		e.end(c, nil, res.Err)
	}
}
