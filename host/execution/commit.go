package execution

import (
	"errors"
	"slices"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/journal"
)

// commitTries is how often a write is tried before the run looks into the journal for a reason. It may be at odds with
// it: then no number of tries would help.
const commitTries = 20

// commit makes a write durable, and then runs the dependent step: now, or when the store takes the
// write. It reports whether the run goes on.
func (r *run) commit(doing string, w journal.Write, b ledger.Batch, then func() bool) bool {
	return r.commitOrRetry(&pendingWrite{doing: doing, write: w, batch: b, then: then})
}

// commitOrRetry commits a write, or leaves it pending. It reports whether the run goes on.
func (r *run) commitOrRetry(o *pendingWrite) bool {
	r.pendingWrite = o
	return r.retryPending()
}

// retryPending tries the pending write. It reports whether the run goes on.
func (r *run) retryPending() bool {
	o := r.pendingWrite
	o.err = r.commitNow(o.write)
	o.tries++
	switch {
	case o.err == nil:
		r.pendingWrite, r.failures.setbacks = nil, 0
		if o.write.Update != nil || o.write.Continue != nil || len(o.write.Hold) > 0 {
			r.rowWrites++
		}
		r.published.Took(&o.write)
		r.mail.acknowledged(&o.write)
		r.deps.stopped.tellStopped(o.write.Send)
		return o.then()
	case errors.Is(o.err, journal.ErrFenced) || r.deps.Host.Over():
		return false
	case errors.Is(o.err, journal.ErrUndecided) || errors.Is(o.err, journal.ErrNotFound) || o.tries >= commitTries:
		// Only the journal has the truth.
		r.pendingWrite = nil
		r.mail.undecided = append(r.mail.undecided, o.write.Send...)
		r.rollBack(o.batch, o.err)
		if o.again != nil {
			r.hand.requeue(o.again)
		}
		return false
	default:
		r.backOff(o.doing, o.err)
		r.hand.requeue(wake{})
		return false
	}
}

// commitSends commits a write once, and tells those whom it asks to stop. If its answer is lost
// they are told when the run is loaded: they learn the truth from the store.
func (r *run) commitSends(w journal.Write) error {
	err := r.commitNow(w)
	switch {
	case err == nil:
		r.mail.acknowledged(&w)
		r.deps.stopped.tellStopped(w.Send)
	case errors.Is(err, journal.ErrUndecided):
		r.mail.undecided = append(r.mail.undecided, w.Send...)
	}
	return err
}

// settlePending tries the pending write, if there is one, before notices are received. It reports whether they can be.
// If not they wait; callers that wait for a reply get the store's error.
func (r *run) settlePending(notices []notice) bool {
	if r.pendingWrite == nil {
		return true
	}
	r.retryPending()
	if r.pendingWrite == nil {
		return true
	}
	err := journal.Coded(r.pendingWrite.doing, r.pendingWrite.err)
	for _, m := range notices {
		if _, again := m.(wake); !again && (isMail(m) || !refuse(m, err)) {
			r.hand.requeue(m)
		}
	}
	return false
}

// commitNow commits a write of the run. A write that ends it sends its result to all callers
// waiting by then.
func (r *run) commitNow(w journal.Write) error {
	u := w.Update
	if u == nil {
		_, err := r.deps.Committer.Commit(w)
		return err
	}
	if u.State.Final() {
		release, err := r.deps.inboxes.Exclude(r.deps.Host.Context(), r.id)
		if err != nil {
			return err
		}
		defer release()
	}
	w, err := r.whole(w)
	if err != nil {
		return err
	}
	_, err = r.deps.Committer.Commit(w)
	return err
}

// whole completes a write of the run, with its update, at the time of its commit. If it ends the
// run, the caller excludes senders.
func (r *run) whole(w journal.Write) (journal.Write, error) {
	w.Update.Arrivals = r.row.Arrivals
	if w.Update.State.Final() {
		awaited, err := r.awaitedByAll()
		if err != nil {
			return w, err
		}
		w.Send = slices.Concat(w.Send, results(r.row, w.Update, awaited))
	}
	return w, nil
}

// awaitedByAll returns the steps that wait for the run and have not started it, including steps it
// has not been told of yet. The caller excludes senders.
func (r *run) awaitedByAll() ([]journal.Envelope, error) {
	var untold []journal.Envelope
	for _, m := range r.hand.all(r.deps.boxes.Queued(r.id)) {
		arrived, is := content(m).(messageArrived)
		switch {
		case !is || r.mail.covers(arrived) || r.notFor(m) != nil:
		case arrived.tellsOfMore():
			inbox, err := r.deps.Store.Inbox(r.deps.Host.Context(), r.row.Receiver(), 0)
			if err != nil {
				return nil, err
			}
			untold = append(untold, inbox...)
		default:
			untold = append(untold, arrived.message.Envelope)
		}
	}
	r.ledger.With(func(l *ledger.Ledger) {
		for _, e := range untold {
			if e.Kind == journal.AwaitMessage {
				l.AddAwaited(e)
			}
		}
	})
	return sharedledger.Look(r.ledger, (*ledger.Ledger).Awaited), nil
}
