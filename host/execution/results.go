package execution

import (
	"context"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
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
//
// The naive way, to watch the callee from memory, fills the host with parents: then nothing that is due finds room.

// results are the messages that tell the end of an execution to the steps that wait for it.
func results(row *journal.Execution, u *journal.Update, awaited []journal.Envelope) (sent []journal.Sent) {
	send := func(to journal.Receiver, origin journal.Origin, step journal.StepID) {
		from := journal.Caller{ID: row.ID, Run: row.Run, Step: step}
		sent = append(sent, journal.ResultTo(to, origin, from, u.FinishedAt, &abi.Outcome{Value: u.Value, Error: u.Error}))
	}
	givenUp := row.Interrupt != nil && row.Interrupt.GivenUp
	if chain := row.Pinned.ReplyTo; chain != nil && !row.Parent.IsZero() && !givenUp {
		send(journal.Receiver{ID: row.Parent.ID, Chain: *chain}, journal.OriginOf(row.Parent.Run, row.Parent.Step), row.Parent.Step)
	}
	for _, e := range awaited {
		if len(sent) > 0 && sent[0].Origin == e.Origin {
			continue // it was moved
		}
		send(journal.Receiver{ID: e.From.ID, Chain: e.From.Run}, e.Origin, e.From.Step)
	}
	return sent
}

// awaited are the steps that wait for the run and have not started it.
func (r *run) awaited() (all []journal.Envelope) {
	r.locked(func(l *ledger) { all = l.awaited })
	return all
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
		sent[i].Bytes += row.LeftOut.Value
	}
	x.announce(sent)
}

// awaitMessage asks a callee to send its result to a step.
func awaitMessage(caller *journal.Execution, step journal.StepID, now int64) journal.Message {
	return journal.Message{Envelope: journal.Envelope{
		Kind: journal.AwaitMessage, At: now, Origin: journal.OriginOf(caller.Run, step), From: journal.Caller{ID: caller.ID, Run: caller.Chain, Step: step},
	}}
}

// result is how a callee has ended. It is in the inbox, or was read from the row of the callee.
type result struct {
	callee   journal.RunID
	step     journal.StepID
	at       int64
	envelope *journal.Envelope
	outcome  abi.Outcome // if there is no envelope
}

// awaitAsBefore has ops wait for the messages of their callees and entities. The row tells which
// do: it is written before the run leaves memory, and its wake time is not [journal.Now] if the
// host has done its part of all. That is so for ops issued by turns that have commits of their own.
func (r *run) awaitAsBefore(issued []journal.StepID) {
	if r.row.WakeAt == journal.Now {
		return
	}
	r.locked(func(l *ledger) {
		for _, step := range l.ops.Steps() {
			if !slices.Contains(issued, step) {
				l.ops.Change(step, func(o *op.Op) { o.Awaiting = o.MayAwait() })
			}
		}
	})
}

// resultOf is the result that a message in the inbox brings.
func resultOf(e journal.Envelope) result {
	return result{callee: e.From.Run, step: e.From.Step, at: e.At, envelope: &e}
}

// settle gives the result to the op that waits for it. It reports false if that waits no more.
func (res *result) settle(o *op.Op, run journal.RunID) bool {
	switch {
	case o.Settled() || !o.MayAwait():
		return false
	case res.envelope == nil:
		o.Settle(res.outcome, 0, res.at)
	case o.Kind == abi.OpLock:
		o.Answered() // it is asked for again, and the next one is locked
		return false
	case res.envelope.Origin != journal.OriginOf(run, o.StepID):
		return false // the step of a run before this one
	default:
		o.Receive(*res.envelope)
		o.ReadyAt = max(res.at, o.IssuedAt)
	}
	return true
}

// giveResults gives results to the ops that wait for them. A run that waits for its own caller, which has ended and so given it
// up, was asked to stop before that.
func (l *ledger) giveResults(row *journal.Execution) {
	run, asked := row.Run, row.Interrupt
	for _, res := range l.results {
		if asked != nil && asked.GivenUp && res.callee == row.Parent.Run {
			res.at = max(res.at, asked.At+1)
		}
		given := false
		l.ops.Change(res.step, func(o *op.Op) { given = res.settle(o, run) })
		if !given && res.envelope != nil {
			l.unwanted = append(l.unwanted, res.envelope.Position)
		}
	}
	l.results = nil
}

// takeUnwanted hands over the positions of results that are to be dropped.
func (l *ledger) takeUnwanted() []uint64 {
	positions := l.unwanted
	l.unwanted = nil
	return positions
}

// knowsResult tells whether a result is here already, or is to be dropped.
func (l *ledger) knowsResult(e journal.Envelope) bool {
	if slices.Contains(l.unwanted, e.Position) {
		return true
	}
	for i := range l.results {
		if of := l.results[i].envelope; of != nil && of.Origin == e.Origin {
			return true
		}
	}
	o := l.ops.Step(e.From.Step)
	return o != nil && o.Message != nil && o.Message.Origin == e.Origin
}

// readMail looks into the inbox for results and requests to stop that the run was told of. It reports whether the run goes on.
func (r *run) readMail() bool {
	if len(r.knownResults) == 0 && !r.mailDue {
		return true
	}
	inbox, err := r.execs.Store.Inbox(r.execs.Host.Context(), r.row.Receiver(), 0)
	if err != nil {
		r.backOff("read the inbox", err)
		r.requeue(wake{})
		return false
	}
	var stops []journal.Envelope
	for _, e := range inbox {
		switch {
		case e.Kind.Stops() && !slices.Contains(r.stops, e.Position):
			stops = append(stops, e)
		case e.Kind == journal.ResultMessage:
			r.readResult(e)
		}
	}
	clear(r.knownResults)
	r.mailDue = false
	if r.row.State.Final() {
		return true
	}
	goesOn, err := r.heedAll(stops)
	if err != nil {
		r.rollBack(batch{}, err) // it meets the corruption when it is loaded
		return false
	}
	return goesOn
}

// readResult takes in a result that is in the inbox.
func (r *run) readResult(e journal.Envelope) {
	r.locked(func(l *ledger) {
		if !l.knowsResult(e) {
			l.results = append(l.results, resultOf(e))
		}
	})
	if m, is := r.knownResults[e.Origin]; is && len(m.Value) == m.Bytes {
		m.Position = e.Position
		r.received.Add(m)
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
	row, err := t.execs.Load(ctx, RefTo(child))
	if err != nil {
		return err
	}
	l := t.execs.letterOf(awaitMessage(t.row, t.step, t.execs.now()))
	return t.execs.send(ctx, row, l)
}

// willBeSent tells whether the callee sends its result to the step without being asked.
func (t *task) willBeSent(child *journal.Execution) bool {
	return child.Parent == journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step} && child.Pinned.ReplyTo != nil && t.row.MovedAt == 0
}

// reread reads the row of a callee again.
func (t *task) reread(ctx context.Context, child *journal.Execution) (*journal.Execution, error) {
	row, err := t.execs.LoadRun(ctx, RefTo(child))
	switch {
	case abi.CodeOf(err) == abi.CodeExecutionNotFound:
		return child, calleeSwept(child.Name())
	case err != nil:
		return child, err
	}
	return row, nil
}

// readEnd posts how a callee has ended. A large value is read for that when it is the turn of the task: there may be thousands that
// call one execution.
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
		row, err = t.execs.LoadRun(ctx, RefTo(child))
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

// readResultOf reads the result of another execution for a workflow. It waits for the memory of the read; then the result is counted as an outcome
// that was not delivered.
func (t *task) readResultOf(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	if bytes := int64(row.LeftOut.Input + deliveryCopies*row.LeftOut.Value); bytes > maxInHand {
		paid, err := t.execs.Delivering.Acquire(ctx, min(bytes, t.execs.Delivering.Total()))
		if err != nil {
			return nil, err
		}
		defer paid.Release()
	}
	return t.execs.Whole(ctx, row)
}

func (t *task) calleeOver(child *journal.Execution) {
	outcome := abi.Outcome{Value: child.Value, Error: child.Error}
	t.came(outcome)
	t.post(calleeOver{result{callee: child.Run, step: t.step, at: child.FinishedAt, outcome: outcome}})
}
