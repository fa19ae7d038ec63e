package execution

import (
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// # Giving up on children
//
// A run gives up a call when its guest cancels the op, or when the run ends while the op is
// pending. If the call has started the callee, the call's policy decides its fate: it is asked to
// stop, it is ended, or nothing. The request to the callee is a message (journal/inbox.go) in the
// commit by which the run gives up.
//
// Invariants:
//
//  1. A turn that is thrown away has stopped no one: the requests are durable with the turn, or
//     neither is.
//  2. No start by a step that is given up comes behind the look for its callee. The task that
//     starts a callee is known before its op can be given up ([task.Performer.AwaitStarts]). Its work is ended before
//     the look, and the look waits for that. If the turn is thrown away after all, the op is
//     performed again. Starts of hosts before this one are fenced.
//  3. Hence the commit has a request for each callee that is to be stopped. Callees that the step
//     has found are linked, not started, and go on.
//  4. Each receiver of a request is told, also if the answer to the commit was lost ([mail.undecided]).
//     It is found after a crash: see [journal.InboxReader.MailReceivers].
//  5. A request may be sent again, by a replay of a turn without a commit of its own. A callee that
//     was asked to stop before does not notice; a finished callee has garbage in its inbox.
//  6. A callee that waits for its own caller is asked to stop before it is given the result: one commit
//     sends both, the request first.
//
// Only the run knows its pending ops, and a paused run does not execute: so the policy stands with
// the callee ([journal.Pinned]), and the end of a run gives up all unfinished work that it has
// started.
//
// The naive way, to interrupt the callee from the task of its call when that is cancelled, is lost with the host; and a
// journal does not tell which ops were given up, only a replay does.

// childrenPage is how many children are read at once.
const childrenPage = 100

// stopsOf are the requests to stop that a turn sends, if it is committed. Unwanted are steps that turns before it have
// given up.
func (r *run) stopsOf(turn guest.Turn, unwanted []journal.StepID) (sent []journal.Sent, err error) {
	everything := false
	r.ledger.With(func(l *ledger.Ledger) {
		var steps []journal.StepID
		steps, everything = l.GivesUp(turn, r.row.MovedAt != 0)
		unwanted = append(slices.Clip(unwanted), steps...)
	})
	if everything {
		return r.callees().stopAll()
	}
	return r.callees().stopSteps(unwanted)
}

// callees are the executions that a run has started by its calls.
type callees struct {
	deps  *runDeps
	row   *journal.Execution
	tasks *task.Set
}

func (r *run) callees() callees { return callees{deps: r.deps, row: r.row, tasks: r.tasks} }

// stopSteps returns the requests to those of steps.
func (c callees) stopSteps(steps []journal.StepID) (sent []journal.Sent, err error) {
	for _, step := range steps {
		c.tasks.End(step)
	}
	for _, step := range steps {
		caller := journal.Caller{ID: c.row.ID, Run: c.row.Run, Step: step}
		if err := c.deps.tasks.AwaitStarts(c.deps.Host.Context(), caller); err != nil {
			return nil, err
		}
		child, err := c.deps.Store.Callee(c.deps.Host.Context(), caller)
		switch {
		case errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrSwept):
		case err != nil:
			return nil, journal.Coded("look for the callee", err)
		case child.Parent == caller && !child.State.Final(): // else it belongs to another caller, or has ended
			sent = c.appendStop(sent, child)
		}
	}
	c.passStops(sent)
	return sent, nil
}

// stopAll returns the requests to all of them.
func (c callees) stopAll() (sent []journal.Sent, err error) {
	c.tasks.EndAll()
	allSteps := journal.Caller{ID: c.row.ID, Run: c.row.Run}
	if err := c.deps.tasks.AwaitStarts(c.deps.Host.Context(), allSteps); err != nil {
		return nil, err
	}
	var after journal.ID
	for more := true; more; {
		children, err := c.deps.Store.Children(c.deps.Host.Context(), c.row.Run, after, childrenPage)
		if err != nil {
			return nil, journal.Coded("look for the children of a run", err)
		}
		for i := range children {
			sent = c.appendStop(sent, &children[i])
			after = children[i].ID
		}
		more = len(children) == childrenPage
	}
	c.passStops(sent)
	return sent, nil
}

// appendStop adds the request that a child is owed, if it is owed one.
func (c callees) appendStop(sent []journal.Sent, child *journal.Execution) []journal.Sent {
	kind := journal.InterruptMessage
	switch child.Pinned.OnCancel {
	case abi.OnCancelCancel:
	case abi.OnCancelTerminate:
		kind = journal.TerminateMessage
	default:
		return sent
	}
	m := request.StopMessage(kind, child.Chain, journal.Interrupt{
		At: c.deps.now(), GivenUp: true, Reason: givesUpBecause(c.row),
	})
	m.From = child.Parent
	return append(sent, journal.Sent{To: child.ID, Chain: child.Chain, Message: m})
}

// passStops tells the injector that callees are about to be given up, if there are any.
func (c callees) passStops(sent []journal.Sent) {
	if len(sent) > 0 {
		c.deps.Fault.Pass(faultpoint.GiveUpBefore)
	}
}

// givesUpBecause returns the reason why an execution does not wait for its callees.
func givesUpBecause(row *journal.Execution) string {
	reason := row.Name() + " does not wait for it any more"
	if i := row.Interrupt; i != nil && i.Reason != "" {
		reason += ": " + i.Reason
	}
	return abi.ClampReason(reason)
}
