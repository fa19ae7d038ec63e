package task

import (
	"context"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// task is one op being performed, on a goroutine of its own. It has copies: op and row belong to the run.
type task struct {
	performer *Performer
	id        journal.ID
	row       *journal.Execution
	op        journal.Op
	step      journal.StepID
	// reserved is the sequence number of a transaction that is under way; 0 if there is none.
	reserved uint64
	cancel   context.CancelFunc
	inHand   *undelivered         // of the run
	ledger   *sharedledger.Ledger // of the run
	begun    atomic.Bool          // it has begun an attempt of an activity
	unread   atomic.Int64         // bytes that it has come to: see outcomebytes.go
	// rowWrites is the run's when the task began.
	rowWrites uint64
	left      <-chan struct{} // of the run
	hasLeft   bool            // its op awaits an answer
}

// post tells the run of the task something. If another run has its name by then it does not get it.
func (t *task) post(r Report) { t.performer.Runs.Report(t.id, t.row.Run, r) }

// done posts the outcome of the op to its run.
func (t *task) done(outcome abi.Outcome) { t.doneAt(outcome, t.performer.now()) }

// doneAt posts an outcome that came to be at a time.
func (t *task) doneAt(outcome abi.Outcome, at int64) {
	t.post(Done{Step: t.step, Outcome: outcome, At: at})
}

// ended says that the attempt of a task has come to something.
func (t *task) ended(report activity.Report) {
	switch report := report.(type) {
	case activity.Done:
		t.came(report.Outcome)
	case activity.Failed:
		t.came(abi.Outcome{Error: report.Err})
	case activity.Committed:
		if !report.Delivered {
			t.came(abi.Outcome{Value: report.Entry.Value})
		}
	}
}

// came says that a task has an outcome, which it is about to post.
func (t *task) came(outcome abi.Outcome) {
	bytes := op.Bytes(outcome.Value, outcome.Error)
	if bytes == 0 || !t.unread.CompareAndSwap(0, bytes) {
		return // the run has ended the task already
	}
	t.inHand.unread.Add(bytes)
	t.performer.outcomes.add(bytes)
	if t.inHand.tooMuch() {
		t.performer.hold(t.id)
	}
}
