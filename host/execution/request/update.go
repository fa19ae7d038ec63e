package request

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Queries asks running executions questions.
type Queries interface {
	Query(ctx context.Context, ref Ref, q abi.Query) (abi.Outcome, error)
}

// Updates sends updates to executions and waits for their answers.
//
// The waits of callers are in memory only, beside the runs: a caller waits also while its execution
// is paused, sleeps, or is not in memory.
type Updates struct {
	sender  *Sender
	queries Queries
	waiters updateWaiters
}

// NewUpdates returns updates that no caller waits for. Queries asks a workflow whether it would refuse one.
func NewUpdates(sender *Sender, queries Queries) *Updates {
	return &Updates{sender: sender, queries: queries, waiters: updateWaiters{all: map[journal.ID][]*updateWaiter{}}}
}

// Update sends an update to an execution and returns the answer, once that is durable. If ctx ends first the error says
// whether it was accepted.
func (us *Updates) Update(ctx context.Context, ref Ref, u message.Update) (abi.Outcome, error) {
	m := u.Message(us.sender.now(), journal.NewOrigin)
	w := us.waiters.wait(ref.ID, m.Origin)
	defer us.waiters.stop(w)
	outcome, known, err := us.known(ctx, ref, u.Origin, w)
	if err != nil || outcome != nil {
		return valueOr(outcome), err
	}
	if !known {
		if err := us.accept(ctx, ref, u, m, w); err != nil {
			return abi.Outcome{}, err
		}
	}
	host := us.sender.Host
	select {
	case reply := <-w.reply:
		return reply.outcome, reply.err
	case <-ctx.Done():
		return abi.Outcome{}, u.NotAnsweredYet(ref.Name)
	case <-host.Context().Done():
		return abi.Outcome{}, host.EndReason()
	}
}

func valueOr(outcome *abi.Outcome) abi.Outcome {
	if outcome == nil {
		return abi.Outcome{}
	}
	return *outcome
}

// known looks up an update that may have been sent before: its outcome, if it has one, and
// otherwise whether it was accepted.
func (us *Updates) known(
	ctx context.Context, ref Ref, origin journal.Origin, w *updateWaiter,
) (outcome *abi.Outcome, accepted bool, err error) {
	if origin == (journal.Origin{}) {
		return nil, false, nil
	}
	rows := us.sender.Rows
	asked, err := rows.LoadRun(ctx, ref)
	if err != nil {
		return nil, false, err
	}
	us.waiters.asks(w, asked.Chain)
	// In this order: it leaves the inbox with its receipt.
	inbox, err := rows.inboxOf(ctx, asked.Receiver(), origin)
	if err != nil {
		return nil, false, journal.Coded("look for an update of "+ref.Name, err)
	}
	receipt, err := rows.receipt(ctx, ref.ID, origin)
	if err != nil {
		return nil, false, journal.Coded("look for an update of "+ref.Name, err)
	}
	switch message.StatusOf(origin, inbox, receipt) {
	case message.Done:
		answer := message.OutcomeOf(receipt)
		return &answer, true, nil
	case message.Unknown:
		return nil, false, nil
	case message.Accepted:
	}
	return us.awaitAccepted(ctx, RefTo(asked), inbox, origin)
}

// awaitAccepted sees to it that an update is answered that the chain of the reference has accepted: its
// outcome, if it is known by now.
func (us *Updates) awaitAccepted(
	ctx context.Context, ref Ref, inbox []journal.Envelope, origin journal.Origin,
) (outcome *abi.Outcome, accepted bool, err error) {
	row, err := us.sender.Rows.LoadRun(ctx, ref)
	if err != nil {
		return nil, false, err
	}
	if row.State.Final() {
		// It may have been answered since the receipt was looked for; from now on it is not.
		reply, _ := us.replyTo(ctx, row, inbox, nil, origin)
		return &reply.outcome, true, reply.err
	}
	if row.State == journal.Running && row.WakeAt <= us.sender.now() {
		us.sender.Runs.EnsureInMemory(ref.ID) // recovery may stand still because the host is full of callers
	}
	return nil, true, nil
}

// accept has an update put into the inbox, if the workflow would not refuse it.
func (us *Updates) accept(
	ctx context.Context, ref Ref, u message.Update, m journal.Message, w *updateWaiter,
) error {
	if u.Validated {
		if err := message.Refusal(us.queries.Query(ctx, ref, u.Question())); err != nil {
			return err
		}
	}
	err := us.sender.toCurrent(ctx, ref, func(row *journal.Execution) error {
		us.waiters.asks(w, row.Chain)
		return us.sender.Send(ctx, row, m)
	})
	if abi.CodeOf(err) == abi.CodeDeadline {
		return u.PerhapsAccepted(ref.Name)
	}
	return err
}

// Tell tells the callers of an update of its answer, which is durable.
func (us *Updates) Tell(a message.Answer, of journal.ID) {
	us.waiters.tell(of, a.Update.Origin, journal.RunID{}, updateReply{outcome: a.Outcome})
}

// TellAnswered sends waiting callers the answers of updates found in the store. It is called
// whenever a run has read its row from the store, since the acknowledgement of an answer's commit
// may have been lost, and when a run has ended. An answer is the same for all callers; that there is none says the run
// that they have asked.
func (us *Updates) TellAnswered(ctx context.Context, row *journal.Execution) {
	origins := us.waiters.origins(row.ID, journal.RunID{})
	if len(origins) == 0 {
		return
	}
	inbox, err := us.sender.Rows.Store.Inbox(ctx, row.Receiver(), 0)
	for _, origin := range origins {
		reply, told := us.replyTo(ctx, row, inbox, err, origin)
		switch {
		case !told:
		case reply.err != nil:
			us.waiters.tell(row.ID, origin, row.Chain, reply)
		default:
			us.waiters.tell(row.ID, origin, journal.RunID{}, reply)
		}
	}
}

// TellDeleted tells the callers of updates that the runs of a chain were deleted before anyone was told of their end.
// Answers are there still.
func (us *Updates) TellDeleted(ctx context.Context, id journal.ID, chain journal.RunID) {
	for _, origin := range us.waiters.origins(id, chain) {
		reply := updateReply{err: ChainGone()}
		switch receipt, err := us.sender.Rows.receipt(ctx, id, origin); {
		case err != nil:
			reply.err = journal.Coded("read the answer to an update", err)
		case message.StatusOf(origin, nil, receipt) == message.Done:
			reply = updateReply{outcome: message.OutcomeOf(receipt)}
		}
		us.waiters.tell(id, origin, chain, reply)
	}
}

// replyTo returns the reply to an update, given the messages read from the inbox. It reports false
// if there is none: the update has not been answered, or not been accepted.
func (us *Updates) replyTo(
	ctx context.Context, row *journal.Execution, inbox []journal.Envelope, err error, origin journal.Origin,
) (reply updateReply, told bool) {
	var receipt *journal.Receipt
	if err == nil {
		receipt, err = us.sender.Rows.receipt(ctx, row.ID, origin)
	}
	if err != nil {
		// It may have been answered: a repeat learns of it.
		return updateReply{err: journal.Coded("read the answer of "+row.Name(), err)}, true
	}
	switch standing := message.StatusOf(origin, inbox, receipt); {
	case standing == message.Done:
		return updateReply{outcome: message.OutcomeOf(receipt)}, true
	case standing == message.Accepted && row.State.Final():
		return updateReply{err: message.Unanswered(row)}, true
	case row.State.Final(): // it was deleted, with its messages; one that is still on its way is refused
		return updateReply{err: ChainGone()}, true
	}
	return updateReply{}, false
}
