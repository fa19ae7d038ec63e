package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// # Requests to stop
//
// An interrupt and a terminate are messages: see journal/inbox.go. The sender puts one into the inbox, whatever the
// run does at the moment, and tells the run. The run heeds it: in memory it is asked to stop from then on. It takes the
// message with the turn that this causes, or at once if it causes none: a workflow need not look at it, and a
// paused one takes no turns. A terminate is taken by the commit that ends the execution.

// Interrupt asks an execution to stop. It returns once the request is durable; the
// execution then runs its cleanup.
func (x *Executions) Interrupt(ctx context.Context, ref Ref, reason string) error {
	return x.sendStop(ctx, ref, journal.InterruptMessage, reason, nil)
}

// sendStop puts a request to stop into the inbox of an execution, and tells its run. The reply comes once the run has taken it.
func (x *Executions) sendStop(ctx context.Context, ref Ref, kind journal.MessageKind, reason string, reply chan<- error) error {
	reason, err := checkReason(reason)
	if err != nil {
		return err
	}
	row, err := x.Load(ctx, ref)
	if err != nil {
		return err
	}
	i := journal.Interrupt{At: x.now(), Reason: reason}
	return x.send(ctx, row, letter{
		message: stopMessage(kind, row.Chain, i), before: faultpoint.InterruptBeforeCommit, after: faultpoint.InterruptAfterCommit, reply: reply,
		idle: func(_ context.Context, row *journal.Execution) (bool, error) {
			switch {
			case kind == journal.InterruptMessage && row.Interrupt != nil && (!row.State.Final() || *row.Interrupt == i):
				return true, nil // the first one stands; it may be this one, if its answer was lost
			case row.State.Final():
				return true, alreadyOver(row)
			}
			return false, nil
		},
	})
}

// stopMessage is a request to stop the runs of a chain.
func stopMessage(kind journal.MessageKind, chain journal.RunID, i journal.Interrupt) journal.Message {
	value := abi.MustMarshal(&i)
	return journal.Message{
		Envelope: journal.Envelope{Kind: kind, At: i.At, Bytes: len(value), Origin: journal.OriginToStop(chain, kind)}, Value: value,
	}
}

// maxEnding bounds the executions that are ended at the same time because they were given up.
const maxEnding = 64

// tellStops tells executions that requests to stop are in their inboxes.
func (x *Executions) tellStops(sent []journal.Sent) {
	if slices.ContainsFunc(sent, func(s journal.Sent) bool { return s.Kind.Stops() }) {
		x.Fault.Pass(faultpoint.GiveUpAfter)
	}
	for i := range sent {
		switch s := &sent[i]; s.Kind {
		case journal.InterruptMessage:
			x.runs.Post(s.To, ofChain{s.Chain, lookForMail{}})
		case journal.TerminateMessage:
			x.ending.Go(s.From.Run, func() {
				taken := make(chan error, 1)
				x.runs.Post(s.To, ofChain{s.Chain, lookForMail{taken}})
				_ = x.awaitEnd(x.Host.Context(), Ref{ID: s.To, Chain: s.Chain}, taken)
			})
		}
	}
}

// Asked is the request to stop that an execution has in its row or in its inbox; nil if there is none.
func (x *Executions) Asked(ctx context.Context, row *journal.Execution) (*journal.Interrupt, error) {
	if row.Interrupt != nil || row.State.Final() {
		return row.Interrupt, nil
	}
	inbox, err := x.Store.Inbox(ctx, row.Receiver(), 0)
	if err != nil {
		return nil, journal.Coded("look for what "+row.Name()+" was asked", err)
	}
	for _, e := range inbox {
		if !e.Kind.Stops() {
			continue
		}
		m, err := x.Store.Message(ctx, row.Receiver(), e.Position)
		if errors.Is(err, journal.ErrNotFound) { // it has been taken meanwhile
			now, err := x.LoadRun(ctx, RefTo(row))
			if err != nil {
				return nil, err
			}
			return now.Interrupt, nil
		}
		if err != nil {
			return nil, journal.Coded("look for what "+row.Name()+" was asked", err)
		}
		return interruptIn(m)
	}
	return nil, nil
}

func interruptIn(m *journal.Message) (*journal.Interrupt, error) {
	var i journal.Interrupt
	if err := abi.Unmarshal(m.Value, &i); err != nil {
		return nil, fmt.Errorf("%w: a request to stop does not decode: %w", journal.ErrCorrupt, err)
	}
	return &i, nil
}

// lookForStops heeds requests that were there before, or came with the commit of another.
func (r *run) lookForStops(reply chan<- error) {
	r.mailDue = true
	if reply == nil {
		return
	}
	if !r.row.State.Final() && !r.readMail() && r.row != nil && r.pendingWrite == nil && !r.row.State.Final() {
		r.requeue(ofChain{r.chain, lookForMail{reply}}) // the inbox could not be read
		return
	}
	r.replyAtEnd(reply)
}

// heedAll heeds requests to stop that are in the inbox. It reports whether the run goes on.
func (r *run) heedAll(stops []journal.Envelope) (bool, error) {
	for _, e := range stops {
		m, err := r.execs.Store.Message(r.execs.Host.Context(), r.row.Receiver(), e.Position)
		if err != nil {
			return false, err
		}
		if err := r.heed(m); err != nil {
			return false, err
		}
		if r.row == nil || r.pendingWrite != nil || r.row.State.Final() {
			return false, nil
		}
	}
	return true, nil
}

// heed obeys a request in the inbox. The first interrupt stands; later ones are taken and
// forgotten.
func (r *run) heed(m *journal.Message) error {
	i, err := interruptIn(m)
	if err != nil {
		return err
	}
	r.stopsTaken[m.Position] = true
	r.stops = append(r.stops, m.Position)
	if m.Kind == journal.TerminateMessage {
		r.end(*i)
		return nil
	}
	if r.row.Interrupt == nil {
		r.row.Interrupt = i
		r.locked(func(l *ledger) { l.ops.Interrupted() })
	}
	return nil
}

// takeStops adds the acknowledgement of requests to stop to a write with its update.
func (r *run) takeStops(w *journal.Write) {
	if len(r.stops) > 0 {
		w.Take = append(w.Take, r.stops...)
		w.Update.Interrupt = r.row.Interrupt
	}
}

// tookStops notes that a write is durable.
func (r *run) tookStops(w *journal.Write) {
	if w.Update != nil && w.Update.Interrupt != nil {
		r.stops = slices.DeleteFunc(r.stops, func(position uint64) bool { return slices.Contains(w.Take, position) })
	}
}

// commitStops takes requests that have caused no turn.
func (r *run) commitStops() {
	u := journal.Update{
		State: r.row.State, WakeAt: r.row.WakeAt, Value: r.row.Value, Error: r.row.Error, FinishedAt: r.row.FinishedAt,
		Waiting: r.waitingNow(), Section: r.row.Section,
	}
	if r.begun && u.State == journal.Running {
		r.locked(func(l *ledger) { u.WakeAt = l.ops.WakeAt() })
	}
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &u}
	r.takeStops(&w)
	r.commit("take a request to stop", w, batch{}, func() bool {
		r.applyUpdate(u)
		return true
	})
}
