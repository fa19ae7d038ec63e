package execution

import (
	"context"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// # Results of callees
//
// A run that waits for callees need not be in memory: the commit by which a callee ends puts its result
// into the inbox of each caller.
//
// Invariants:
//
//  1. A call is under way until it is certain that the callee will send its result, or has ended. A
//     callee that the step has started knows the waiting caller from its row
//     ([journal.Pinned.ReplyTo]); a callee that it has found is told by a message, which the owner
//     of the callee receives as any other: in front of its end, or it is refused. A run that was
//     moved may wait again for a call that its code before has given up, and whose callee sends
//     nothing because of that ([journal.Interrupt.GivenUp]): it asks by a message, too.
//  2. From then on the op waits as for a signal. A caller in memory is told by the callee; an
//     evicted caller is brought back for it, and after a crash by the scan for results
//     (host/recovery).
//  3. A result is taken out of the inbox by the commit that delivers it. One that no op waits for was given up, or
//     its run has continued, or the outcome was read from the row of the callee: it is dropped, and may be. If code
//     that the run is moved to comes to the call, it reads the row of the callee.
//  4. A large result that very many have waited for is in no message (maxShared): the message says that the
//     callee has ended. It is dropped, and the op needs the host again, which finds the callee and reads its row.
//
// The naive way, to watch the callee from memory, fills the host with parents: then nothing that is due finds room.

// maxShared bounds the bytes of the messages by which one execution tells its end to steps that have found it, of which
// there may be ten thousand. Above it they bring no outcome, and each step reads the row of the callee in its turn: it
// is linked to it.
const maxShared = 8 << 20

// results are the messages that tell the end of an execution to the steps that wait for it.
func results(row *journal.Execution, u *journal.Update, awaited []journal.Envelope) (sent []journal.Sent) {
	givenUp := row.Interrupt != nil && row.Interrupt.GivenUp
	replyTo := row.Pinned.ReplyTo
	if row.Parent.IsZero() || givenUp {
		replyTo = nil
	}
	if replyTo == nil && len(awaited) == 0 {
		return nil
	}
	value := abi.MustMarshal(&abi.Outcome{Value: u.Value, Error: u.Error})
	send := func(to journal.Receiver, origin journal.Origin, step journal.StepID) {
		from := journal.Caller{ID: row.ID, Run: row.Run, Step: step}
		sent = append(sent, journal.ResultTo(to, origin, from, u.FinishedAt, value))
	}
	if replyTo != nil {
		send(
			journal.Receiver{ID: row.Parent.ID, Chain: *replyTo}, journal.OriginOf(row.Parent.Run, row.Parent.Step),
			row.Parent.Step,
		)
	}
	if len(awaited)*len(value) > maxShared {
		value = nil
	}
	for _, e := range awaited {
		if replyTo != nil && sent[0].Origin == e.Origin {
			continue // it was moved
		}
		send(journal.Receiver{ID: e.From.ID, Chain: e.From.Run}, e.Origin, e.From.Step)
	}
	return sent
}

// maxAnnounced bounds a result that callers are handed along with the news of it. Others they read from their inbox:
// a caller may have thousands of callees that end at once.
const maxAnnounced = 1 << 10

// announce tells callers that are in memory of results that are durable, and has others brought back.
func (x *Executions) announce(sent []journal.Sent) {
	for _, s := range sent {
		if s.Bytes > maxAnnounced {
			s.Value = nil
		}
		x.runs.Post(s.To, ofChain{s.Chain, resultSent{s.Message}})
	}
}

// announceEnd announces the results of a finished execution. It may be repeated.
func (x *Executions) announceEnd(row *journal.Execution, awaited []journal.Envelope) {
	sent := results(row, &journal.Update{Value: row.Value, Error: row.Error, FinishedAt: row.FinishedAt}, awaited)
	for i := range sent {
		sent[i].Bytes += row.LeftOut.Value // so that no one takes the value of the news for the result
	}
	x.announce(sent)
}

// awaitMessage asks a callee to send its result to a step.
func awaitMessage(caller *journal.Execution, step journal.StepID, now int64) journal.Message {
	return journal.Message{Envelope: journal.Envelope{
		Kind:   journal.AwaitMessage,
		At:     now,
		Origin: journal.OriginOf(caller.Run, step),
		From:   journal.Caller{ID: caller.ID, Run: caller.Chain, Step: step},
	}}
}

// readMail looks into the inbox for results and requests to stop that the run was told of. It reports whether the run
// goes on.
func (r *run) readMail() bool {
	if !r.mail.isDue() {
		return true
	}
	inbox, err := r.execs.Store.Inbox(r.execs.Host.Context(), r.row.Receiver(), 0)
	if err != nil {
		r.backOff("read the inbox", err)
		r.hand.requeue(wake{})
		return false
	}
	var stops []journal.Envelope
	for _, e := range inbox {
		switch {
		case e.Kind.Stops() && !slices.Contains(r.mail.asked, e.Position):
			stops = append(stops, e)
		case e.Kind == journal.ResultMessage:
			r.readResult(e)
		}
	}
	r.mail.wasRead()
	if r.row.State.Final() {
		return true
	}
	goesOn, err := r.heedAll(stops)
	if err != nil {
		r.rollBack(ledger.Batch{}, err) // it meets the corruption when it is loaded
		return false
	}
	return goesOn
}

// readResult takes in a result that is in the inbox.
func (r *run) readResult(e journal.Envelope) {
	r.ledger.with(func(l *ledger.Ledger) {
		if !l.KnowsResult(e) {
			l.AddResult(ledger.ResultOf(e))
		}
	})
	if m, is := r.mail.results[e.Origin]; is && len(m.Value) == m.Bytes {
		m.Position = e.Position
		r.mail.received.Add(m)
	}
}

// WakeForMail has an execution look into its inbox.
func (x *Executions) WakeForMail(id journal.ID) { x.runs.Post(id, lookForMail{}) }

// awaitChild has the run learn of the end of a callee: it has ended, or will send its result.
func (t *task) awaitChild(ctx context.Context, child *journal.Execution) {
	failure, decided := t.execs.retryUntilDecided(ctx, "wait for a workflow", func() (err error) {
		if child.State.Final() || t.willBeSent(child) {
			return nil
		}
		err = t.askForResult(ctx, child)
		switch abi.CodeOf(err) {
		case abi.CodeAlreadyOver, abi.CodeExecutionNotFound: // another run may have taken its place meanwhile
			if child, err = t.reread(ctx, child); err == nil && !child.State.Final() {
				err = abi.Errorf(abi.CodeOverloaded, "%s has just been started over", child.Name())
			}
		case abi.CodeHostFault: // it will be paused, and can be resumed
			err = abi.Errorf(abi.CodeOverloaded, "%s cannot be told who waits for it: %v", child.Name(), err)
		}
		return err
	})
	switch {
	case !decided:
	case failure != nil:
		t.done(abi.Outcome{Error: failure})
	case child.State.Final():
		t.readEnd(ctx, child)
	default:
		t.post(opAwaits{t.step})
	}
}

// askForResult asks a callee that the step has found to send its result.
func (t *task) askForResult(ctx context.Context, child *journal.Execution) error {
	row, err := t.execs.Rows.Load(ctx, request.RefTo(child))
	if err != nil {
		return err
	}
	return t.execs.Messages.Send(ctx, row, awaitMessage(t.row, t.step, t.execs.now()))
}

// willBeSent tells whether the callee sends its result to the step without being asked.
func (t *task) willBeSent(child *journal.Execution) bool {
	return child.Parent == journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step} && child.Pinned.ReplyTo != nil &&
		t.row.MovedAt == 0
}

// reread reads the row of a callee again.
func (t *task) reread(ctx context.Context, child *journal.Execution) (*journal.Execution, error) {
	row, err := t.execs.Rows.LoadRun(ctx, request.RefTo(child))
	switch {
	case abi.CodeOf(err) == abi.CodeExecutionNotFound:
		return child, calleeSwept(child.Name())
	case err != nil:
		return child, err
	}
	return row, nil
}

// readEnd posts how a callee has ended. A large value is read for that when it is the turn of the task: there may be
// thousands that call one execution.
func (t *task) readEnd(ctx context.Context, child *journal.Execution) {
	if child.LeftOut.Value == 0 {
		t.calleeOver(child)
		return
	}
	t.execs.reading.Go(t.id, func() {
		if f := guarded(func() { t.readCallee(ctx, child) }); f != nil {
			t.post(taskFault{t.step, t.reserved, f})
		}
	})
}

func (t *task) readCallee(ctx context.Context, child *journal.Execution) {
	var row *journal.Execution
	failure, decided := t.execs.retryUntilDecided(ctx, "read the end of a workflow", func() (err error) {
		row, err = t.execs.Rows.LoadRun(ctx, request.RefTo(child))
		if err == nil {
			row, err = t.readResultOf(ctx, row)
		}
		if abi.CodeOf(err) == abi.CodeExecutionNotFound {
			err = calleeSwept(child.Name())
		}
		return err
	})
	switch {
	case !decided:
	case failure != nil:
		t.done(abi.Outcome{Error: failure})
	default:
		t.calleeOver(row)
	}
}

// readResultOf reads the result of another execution for a workflow. It waits for the memory of the read; then the
// result is counted as an outcome that was not delivered.
func (t *task) readResultOf(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	if bytes := int64(row.LeftOut.Input + deliveryCopies*row.LeftOut.Value); bytes > maxInHand {
		paid, err := t.execs.Delivering.Acquire(ctx, min(bytes, t.execs.Delivering.Total()))
		if err != nil {
			return nil, err
		}
		defer paid.Release()
	}
	return t.execs.Rows.Whole(ctx, row)
}

func (t *task) calleeOver(child *journal.Execution) {
	outcome := abi.Outcome{Value: child.Value, Error: child.Error}
	t.came(outcome)
	t.post(calleeOver{ledger.Result{Callee: child.Run, Step: t.step, At: child.FinishedAt, Outcome: outcome}})
}
