package execution

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// messageArrived brings a message that was put into the inbox of the chain. A large value stays in
// the store; one without a position is there, and may have been there before. Reading is the last
// of any inbox that began before the message was put: see [request.InboxLocks]. The reply, to a request to
// stop if one is waited for, comes when the execution has ended.
type messageArrived struct {
	message journal.Message
	reading uint64
	reply   chan<- error // or nil
}

// maxValuesQueued is how many messages wait for a run with their values.
const maxValuesQueued = 4

// arrivalOf is the news of a message. The call of the sender has paid for a large value; the box of a run is not paid
// for.
func arrivalOf(m journal.Message, reading uint64, reply chan<- error) messageArrived {
	if m.Bytes > maxAnnounced {
		m.Value = nil
	}
	return messageArrived{m, reading, reply}
}

// registry has the runs in memory.
type registry = actor.Registry[journal.ID, notice, *run]

// notifier tells runs of messages in their inboxes.
type notifier struct{ runs *registry }

var _ request.Runs = notifier{}

// Arrived implements request.Runs.
func (n notifier) Arrived(to journal.ID, chain journal.RunID, a request.Arrival) {
	if !n.runs.Has(to) || len(n.runs.Queued(to)) >= maxValuesQueued {
		a.Message.Value = nil
	}
	n.runs.Post(to, ofChain{chain, arrivalOf(a.Message, a.Reading, a.Reply)})
}

// EnsureInMemory implements request.Runs.
func (n notifier) EnsureInMemory(id journal.ID) { n.runs.PostIfAbsent(id, wake{}) }

// LookForMail implements request.Runs.
func (n notifier) LookForMail(to journal.ID, chain journal.RunID, reply chan<- error) {
	n.runs.Post(to, ofChain{chain, lookForMail{reply}})
}

// receiveMessage takes in a message that the run is told of.
func (r *run) receiveMessage(m messageArrived) {
	known := r.mail.covers(m)
	if !known && m.message.Position == 0 {
		r.reload(ledger.Batch{})
		if m.reply != nil {
			r.hand.requeue(ofChain{r.chain, lookForMail{m.reply}})
		}
		return
	}
	if !known {
		r.row.Arrivals++
		r.wakened()
	}
	switch {
	case m.message.Kind.Stops():
		if !known && !r.row.State.Final() && !r.mail.heeded[m.message.Position] {
			if err := r.heedArrived(&m.message); err != nil {
				r.rollBack(ledger.Batch{}, err) // it meets the corruption when it is loaded
			}
		}
		r.replyAtEnd(m.reply)
	case known || r.row.State.Final():
	case m.message.Kind == journal.SettleMessage:
		r.mail.deferreds.add(&m.message)
		r.ledger.with(func(l *ledger.Ledger) { l.Ops().Settled(m.message.Name) })
	default:
		r.mail.received.Add(m.message)
		r.ledger.with(func(l *ledger.Ledger) { l.Arrived(m.message.Envelope) })
	}
}

// heedArrived heeds a request that has just arrived; its value may have stayed in the store.
func (r *run) heedArrived(m *journal.Message) error {
	if len(m.Value) == m.Bytes {
		return r.heed(m)
	}
	_, err := r.heedAll([]journal.Envelope{m.Envelope})
	return err
}

// wakened notes changes of the row by a commit of another writer.
func (r *run) wakened() {
	if r.row.State == journal.Running {
		r.row.WakeAt = journal.Now
	}
	r.rowWrites++
}

// missed tells whether a message that is not for the run may be for one which has taken its place, unknown to this one.
func (r *run) missed(m notice) bool {
	arrived, is := content(m).(messageArrived)
	return is && !r.mail.covers(arrived)
}

// awaitedByAll returns the steps that wait for the run and have not started it, including steps it
// has not been told of yet. The caller excludes senders.
func (r *run) awaitedByAll() []journal.Envelope {
	for _, m := range r.hand.all(r.execs.runs.Queued(r.id)) {
		arrived, is := content(m).(messageArrived)
		if !is || arrived.message.Kind != journal.AwaitMessage || r.mail.covers(arrived) || r.notFor(m) != nil {
			continue
		}
		r.ledger.with(func(l *ledger.Ledger) { l.AddAwaited(arrived.message.Envelope) })
	}
	return look(r.ledger, (*ledger.Ledger).Awaited)
}

// commitNow commits a write of the run. A write that ends it sends its result to all callers
// waiting by then.
func (r *run) commitNow(w journal.Write) error {
	u := w.Update
	if u == nil {
		_, err := r.execs.Committer.Commit(w)
		return err
	}
	if u.State.Final() {
		release, err := r.execs.inboxLocks.Exclude(r.execs.Host.Context(), r.id)
		if err != nil {
			return err
		}
		defer release()
	}
	_, err := r.execs.Committer.Commit(r.whole(w))
	return err
}

// whole completes a write of the run, with its update, at the time of its commit. If it ends the
// run, the caller excludes senders.
func (r *run) whole(w journal.Write) journal.Write {
	w.Update.Arrivals = r.row.Arrivals
	if w.Update.State.Final() {
		w.Send = slices.Concat(w.Send, results(r.row, w.Update, r.awaitedByAll()))
	}
	return w
}

// replyAtEnd replies to a request to terminate the run once it has ended.
func (r *run) replyAtEnd(reply chan<- error) {
	switch {
	case reply == nil:
	case r.row == nil || r.pendingWrite != nil:
		r.hand.requeue(ofChain{r.chain, endAwaited{reply}}) // its end is not durable yet
	case r.row.State.Final() && abi.CodeOf(r.row.Error) != abi.CodeTerminated:
		answer(reply, request.AlreadyOver(r.row)) // it came to its end by itself
	default:
		answer(reply, nil)
	}
}
