package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Launch makes the row of a run durable, and a signal with it if there is one, and sets it to work.
// If there is an execution of its name it returns that, unless the caller wants a new run in place
// of a finished one. Clients, schedules, entities and callers among the executions all start by it.
//
// A caller that did not hear the answer asks again, and must not start a second run. So a run
// remembers the request that has started it. The request of a start that may take the place of
// another run is looked for first; the request of others only if there is a run of another request.
// That it is not there yet when it is looked for decides nothing: the store compares the run seen
// here with the current one, and if this request was faster under another call, they differ.
func (st *Starter) Launch(
	ctx context.Context, row *journal.Execution, ifFinished abi.IfFinished, with *message.Signal,
) (_ *journal.Execution, existed bool, err error) {
	if ifFinished != "" && ifFinished != abi.ReturnFinished {
		if mine, err := st.Requested(ctx, row); err != nil || mine != nil {
			return mine, true, err
		}
	}
	var over journal.RunID
	for {
		existed, err := st.StartOver(ctx, row, over, with)
		if err != nil {
			return nil, false, err
		}
		if !existed {
			return row, false, nil
		}
		found, err := st.deps.rows.Load(ctx, request.Ref{ID: row.ID, Name: row.Name()})
		if abi.CodeOf(err) == abi.CodeExecutionNotFound {
			over = journal.RunID{}
			continue // it was deleted since it was found
		}
		if err != nil {
			return nil, false, err
		}
		if mine, err := st.Requested(ctx, row); err != nil || mine != nil {
			return mine, true, err
		}
		restart, refuse := decideFinished(ifFinished, found.State)
		switch {
		case !found.State.Final() || !restart && !refuse:
			return found, true, nil
		case refuse:
			return nil, false, abi.Errorf(
				abi.CodeFinishedBefore, "%s has finished before: it is %s", found.Name(), found.State,
			)
		case found.Run == over:
			return found, true, nil // it has ended, and has received the signal before
		}
		over = found.Run
	}
}

// decideFinished tells whether a start under the key of a finished run begins a new one, refuses,
// or, if neither, answers with that run.
func decideFinished(p abi.IfFinished, state journal.State) (restart, refuse bool) {
	switch p {
	case abi.RestartFinished:
		return true, false
	case abi.RestartFailed:
		return state != journal.Completed, false
	case abi.RefuseFinished:
		return false, true
	default:
		return false, false
	}
}

// Requested is the run that the request of a row has started before; nil if there is none.
func (st *Starter) Requested(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	if row.Request == (journal.Origin{}) {
		return nil, nil
	}
	mine, err := st.deps.Store.Requested(ctx, row.ID, row.Request)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, journal.Coded("look for the run of the request", err)
	}
	return mine, nil
}

// LaunchCallee starts the callee of a step, or finds the execution that has its key already. It is
// not refused when the host is full: the caller must be able to finish.
func (st *Starter) LaunchCallee(
	ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.Call, awaited bool,
) (*journal.Execution, bool, error) {
	if err := st.deps.Host.Accepting(); err != nil {
		return nil, false, err
	}
	row, err := st.deps.Programs.Callee(ctx, caller, step, call, awaited)
	if err != nil {
		return nil, false, err
	}
	st.hasRoom() // if not, an idle one leaves
	found, existed, err := st.Launch(ctx, row, abi.ReturnFinished, nil)
	switch {
	case err != nil || !existed || !calledBefore(caller, found):
		return found, existed, err
	case found.State == journal.Running:
		return found, true, st.checkGoesOn(ctx, found)
	default:
		return st.Launch(ctx, row, abi.RestartFailed, nil)
	}
}

// calledBefore tells whether an execution was started by an earlier run of a restarted caller: not
// by a run that the caller continues. Completed work of that run stands. Work that failed with it,
// or was stopped because of it, is to be done again; otherwise the new run would fail like the one
// before. The callee that the new run starts in its place is its own, so a step that is performed
// twice starts it over once.
//
// Of a caller that has continued since it was restarted, a callee that sends its result tells the
// chain that has called it.
func calledBefore(caller, callee *journal.Execution) bool {
	if callee.Parent.ID != caller.ID || callee.Parent.Run == caller.Run {
		return false
	}
	replyTo := callee.Pinned.ReplyTo
	return caller.Run == caller.Chain || replyTo != nil && *replyTo != caller.Chain
}

// checkGoesOn has a step look again later at a callee that an earlier run has given up: it is being stopped, and its
// end is not for this caller. A paused one may stay so for days: the caller leaves memory and waits for it.
func (st *Starter) checkGoesOn(ctx context.Context, callee *journal.Execution) error {
	asked, err := st.deps.rows.AskedToStop(ctx, callee)
	if err == nil && asked != nil && asked.GivenUp {
		err = abi.Errorf(abi.CodeOverloaded, "%s is being stopped: an earlier run has called it", callee.Name())
	}
	return err
}
