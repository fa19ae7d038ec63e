package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// # Requests to stop
//
// An interrupt and a terminate are messages: see journal/inbox.go. The sender puts one into the inbox, whatever the
// run does at the moment, and tells the run. The run heeds it: in memory it is asked to stop from then on. It takes the
// message with the turn that this causes, or at once if it causes none: a workflow need not look at it, and a
// paused one takes no turns. A terminate is taken by the commit that ends the execution.

// lookForStops heeds requests that were there before, or came with the commit of another.
func (r *run) lookForStops(reply chan<- error) {
	r.mail.due = true
	if reply == nil {
		return
	}
	if !r.row.State.Final() && !r.readMail() && r.row != nil && r.pendingWrite == nil && !r.row.State.Final() {
		r.hand.requeue(ofChain{r.chain, lookForMail{reply}}) // the inbox could not be read
		return
	}
	r.replyAtEnd(reply)
}

// commitStops takes requests that have caused no turn.
func (r *run) commitStops() {
	u := journal.Update{
		State: r.row.State, WakeAt: r.row.WakeAt, Value: r.row.Value, Error: r.row.Error, FinishedAt: r.row.FinishedAt,
		Waiting: r.waitingNow(), Section: r.row.Section,
	}
	if r.life.begun() && u.State == journal.Running {
		r.ledger.With(func(l *ledger.Ledger) { u.WakeAt = l.Ops().WakeAt() })
	}
	w := rowUpdate(r.row, &u)
	ledger.Acknowledge(&w, r.mail.asked, r.row.Interrupt)
	r.commit("take a request to stop", w, ledger.Batch{}, func() bool {
		r.applyUpdate(u)
		return true
	})
}
