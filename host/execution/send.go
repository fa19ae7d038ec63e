package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// # How a message comes to an execution
//
// A signal, an update, a settlement, a request to stop, the question for a result: all come in one
// way. The sender puts the message into the inbox, whatever the run does at the moment, and tells
// the run. Neither its code nor its memory is needed for that; the run handles the message later.
//
// Invariants:
//
//  1. A message is put and the run is told under one lock of the inbox ([inboxLocks]): the run knows it from its inbox or is told of it, never
//     both.
//  2. The commit counts the message in the row and sets the wake time (see journal.Write.Receive).
//     An update of the run names how many it knows of, so that a concurrent one does not overwrite
//     the wake time. After a crash the run is loaded, and finds the message.
//  3. If the answer to the commit is lost it is repeated, under the same lock, until its outcome is
//     known, also when the caller has gone. Until then no run can have taken the message, so that
//     the repeat finds it.

// letter is a message on its way to an execution.
type letter struct {
	message       journal.Message
	before, after string // the points around its commit
	// idle tells, by the row, whether there is nothing to send, or why it is refused. It refuses whatever comes too late.
	idle func(ctx context.Context, row *journal.Execution) (idle bool, err error)
	// existed answers the sender of a message whose origin is in the inbox already; nil if the message there is as good.
	// ErrNotFound says that the message is gone by now.
	existed func(ctx context.Context, row *journal.Execution) error
	reply   chan<- error // if it is a request to stop: for when the run has taken it; or nil
}

// send puts a message into the inbox of an execution: of the chain of a row that was looked at. It returns once that is durable.
func (x *Executions) send(ctx context.Context, row *journal.Execution, l letter) error {
	if err := x.Host.Accepting(); err != nil {
		return err
	}
	for {
		idle, err := l.idle(ctx, row)
		if idle || err != nil {
			return err
		}
		existed, err := x.put(ctx, row, l)
		if err == nil && existed && l.existed != nil {
			err = l.existed(ctx, row)
		}
		if !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		// It has continued as another run, has ended, or is gone.
		if row, err = x.Load(ctx, RefTo(row)); err != nil {
			return err
		}
	}
}

// put is one try to put a message into the inbox of a run; ErrNotFound if the run has ended or is
// gone.
func (x *Executions) put(ctx context.Context, row *journal.Execution, l letter) (existed bool, err error) {
	reading, release, err := x.inboxLocks.share(ctx, row.ID)
	if err != nil {
		return false, journal.Coded("tell "+row.Name(), err)
	}
	w := journal.Write{ID: row.ID, Run: row.Run, Chain: row.Chain, Receive: &l.message}
	var res journal.Result
	f := guarded(func() {
		x.Fault.Pass(l.before)
		if res, err = x.Committer.Commit(w); err == nil {
			x.Fault.Pass(l.after)
		}
	})
	if f != nil {
		x.Logger.Error("the host failed while it put a message into an inbox", "execution", row.Name(), "fault", f.What)
		err = journal.ErrUndecided
	}
	if !errors.Is(err, journal.ErrUndecided) {
		defer release()
		return x.sent(row, l, reading, res, err)
	}
	type result struct {
		existed bool
		err     error
	}
	decided := make(chan result, 1)
	repeats := x.group.Go(func() {
		defer release()
		res, err := x.decider().Repeat(x.Host.Context(), w, x.foundInDoubt(row, &l.message))
		if err == nil && res.Existed { // it may be this message
			x.hand(row, l, reading)
			decided <- result{existed: true}
			return
		}
		existed, err := x.sent(row, l, reading, res, err)
		decided <- result{existed, err}
	})
	if !repeats { // the host ends
		release()
		return false, journal.Coded("tell "+row.Name(), err)
	}
	select {
	case r := <-decided:
		return r.existed, r.err
	case <-ctx.Done():
		return false, journal.Coded("tell "+row.Name(), ctx.Err())
	}
}

// sent notifies the run of a commit to its inbox. The caller has the lock.
func (x *Executions) sent(row *journal.Execution, l letter, reading uint64, res journal.Result, err error) (existed bool, _ error) {
	m := l.message
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return false, err
	case errors.Is(err, journal.ErrInboxFull) && m.Kind == journal.SettleMessage:
		return false, settledFull(row)
	case errors.Is(err, journal.ErrInboxFull):
		return false, message.Full(row.Name())
	case err != nil:
		return false, journal.Coded("send a message of kind "+string(m.Kind)+" to "+row.Name(), err)
	case res.Existed && m.Kind.Stops():
		x.runs.Post(row.ID, ofChain{row.Chain, lookForMail{l.reply}})
		return true, nil
	case res.Existed:
		if row.State == journal.Running && row.WakeAt <= x.now() {
			x.EnsureInMemory(row.ID) // recovery may stand still because the host is full of callers
		}
		return true, nil
	}
	l.message.Position = res.Position
	x.hand(row, l, reading)
	return false, nil
}

// hand hands the run a message that is in its inbox. The caller has the lock.
func (x *Executions) hand(row *journal.Execution, l letter, reading uint64) {
	if !x.runs.Has(row.ID) || len(x.runs.Queued(row.ID)) >= maxValuesQueued {
		l.message.Value = nil
	}
	x.runs.Post(row.ID, ofChain{row.Chain, arrivalOf(l.message, reading, l.reply)})
}

// foundInDoubt is the look of a message whose commit is repeated. The run that it was for may have
// received it and continued since: then it is in the inbox that the next run shares, which has not
// been read yet. A settlement of a deferred is for one run.
func (x *Executions) foundInDoubt(row *journal.Execution, m *journal.Message) decide.Look {
	return func(res journal.Result, refusal error) (journal.Result, error) {
		if !errors.Is(refusal, journal.ErrNotFound) || m.Kind == journal.SettleMessage {
			return decide.Existing(res, refusal)
		}
		_, err := x.Store.FindMessage(x.Host.Context(), row.Receiver(), m.Origin)
		switch {
		case err == nil:
			return journal.Result{Existed: true}, nil
		case !errors.Is(err, journal.ErrNotFound):
			return journal.Result{}, journal.ErrUndecided
		}
		return res, refusal
	}
}
