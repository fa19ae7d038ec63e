package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// IfFinished decides a start under the key of a finished run. An open run is found, whatever it
// says.
type IfFinished = abi.IfFinished

// decide tells whether a start under the key of a finished run begins a new one, refuses, or, if
// neither, answers with that run.
func decide(p IfFinished, state journal.State) (restart, refuse bool) {
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

func checkIfFinished(p IfFinished) error {
	switch p {
	case "", abi.ReturnFinished, abi.RestartFinished, abi.RestartFailed, abi.RefuseFinished:
		return nil
	}
	return abi.Errorf(abi.CodeBadRequest, "what to do with a finished run is %q, %q, %q or %q, not %.40q",
		abi.ReturnFinished, abi.RestartFinished, abi.RestartFailed, abi.RefuseFinished, p)
}

// startOrigin returns the origin of a start with a request id. A signal or an update may have the
// same id: an id has no control characters.
func startOrigin(requestID string) (journal.Origin, error) {
	origin, err := originOf(requestID)
	if err != nil || requestID == "" {
		return origin, err
	}
	return journal.OriginOfRequest("start\x00" + requestID), nil
}

// start makes a row durable, and a signal with it if there is one. If there is a row with its name
// it returns that, unless the caller wants a new run in place of a finished one.
//
// A caller that did not hear the answer asks again, and must not start a second run. So a run
// remembers the request that has started it. The request of a start that may take the place of
// another run is looked for first; the request of others only if there is a run of another request.
// That it is not there yet when it is looked for decides nothing: the store compares the run seen
// here with the current one, and if this request was faster under another call, they differ.
func (e *Engine) start(ctx context.Context, row *journal.Execution, ifFinished IfFinished, with *message.Signal) (*journal.Execution, bool, error) {
	if ifFinished != "" && ifFinished != abi.ReturnFinished {
		if mine, err := e.requested(ctx, row); err != nil || mine != nil {
			return mine, true, err
		}
	}
	var over journal.RunID
	for {
		existed, err := e.executions.StartOver(ctx, row, over, with)
		if err != nil {
			return nil, false, err
		}
		if !existed {
			return row, false, nil
		}
		found, err := e.executions.Load(ctx, execution.Ref{ID: row.ID, Name: row.Name()})
		if abi.CodeOf(err) == abi.CodeExecutionNotFound {
			over = journal.RunID{}
			continue // it was deleted since it was found
		}
		if err != nil {
			return nil, false, err
		}
		if mine, err := e.requested(ctx, row); err != nil || mine != nil {
			return mine, true, err
		}
		restart, refuse := decide(ifFinished, found.State)
		switch {
		case !found.State.Final() || !restart && !refuse:
			return found, true, nil
		case refuse:
			return nil, false, abi.Errorf(abi.CodeFinishedBefore, "%s has finished before: it is %s", found.Name(), found.State)
		case found.Run == over:
			return found, true, nil // it has ended, and has received the signal before
		}
		over = found.Run
	}
}

// requested is the run that the request of a row has started before; nil if there is none.
func (e *Engine) requested(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	if row.Request == (journal.Origin{}) {
		return nil, nil
	}
	mine, err := e.store.Requested(ctx, row.ID, row.Request)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, journal.Coded("look for the run of the request", err)
	}
	return mine, nil
}

// RestartRequest says how to run a finished execution again.
type RestartRequest struct {
	// Input is one msgpack value; nil means the input of the finished run.
	Input []byte
	// To is the module, as in Move; empty means Latest.
	To string
	// RequestID makes it safe to repeat the request: the same one starts one run, for as
	// long as that is kept. Empty means that it is not repeated.
	RequestID string
}

// Restart starts a new run of a finished execution, under the same key. If another caller is
// faster, it returns that one's run, and existed is true.
func (e *Engine) Restart(ctx context.Context, namespace, name string, req RestartRequest) (row *journal.Execution, existed bool, err error) {
	request, err := startOrigin(req.RequestID)
	if err != nil {
		return nil, false, err
	}
	if err := e.state.Accepting(); err != nil {
		return nil, false, err
	}
	if err := e.admission.Admit(); err != nil {
		return nil, false, err
	}
	over, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return nil, false, err
	}
	if row, err = e.requested(ctx, &journal.Execution{ID: over.ID, Request: request}); err != nil || row != nil {
		return row, true, err
	}
	if !over.State.Final() {
		return nil, false, notOver(over)
	}
	if req.To == "" {
		req.To = Latest
	}
	next := e.newRun(over.Namespace, over.Workflow, over.Key, request)
	if next.Digest, err = e.moduleFor(ctx, over, req.To); err != nil {
		return nil, false, err
	}
	workflow, err := e.workflowOf(ctx, next)
	if err != nil {
		return nil, false, err
	}
	release := func() {}
	if req.Input == nil {
		if req.Input, release, err = e.executions.ReadInput(ctx, over); err != nil {
			return nil, false, err
		}
	}
	next.Input, err = workflow.CheckRequest(req.Input)
	release()
	if err != nil {
		return nil, false, err
	}
	existed, err = e.executions.StartOver(ctx, next, over.Run, nil)
	if err != nil || !existed {
		return next, false, err
	}
	row, err = e.Poll(ctx, namespace, name)
	return row, true, err
}

func notOver(row *journal.Execution) error {
	return abi.Errorf(abi.CodeNotOver, "%s is %s", row.Name(), row.State)
}

// runName is a run of an execution in the words of the caller.
func runName(name, run string) string {
	if run == "" {
		return name
	}
	return fmt.Sprintf("%s (run %.40s)", name, run)
}

// maxRunsLooked bounds the earlier runs that are looked through for the last one of a chain.
const maxRunsLooked = 1000

// PollRun is Poll of a run by its id, in hex, be it the newest of the execution or an earlier one:
// the last run of a chain, or the first. Empty means the newest.
func (e *Engine) PollRun(ctx context.Context, namespace, name, run string) (*journal.Execution, error) {
	newest, err := e.Poll(ctx, namespace, name)
	if run == "" || err != nil && abi.CodeOf(err) != abi.CodeExecutionNotFound {
		return newest, err
	}
	var id journal.RunID
	if n, err := hex.Decode(id[:], []byte(run[:min(len(run), 2*len(id))])); err != nil || n != len(id) || len(run) != 2*len(id) {
		return nil, abi.Errorf(abi.CodeBadRequest, "%.40q is not the id of a run: 32 hexadecimal digits", run).WithHint("'cruster-host workflow describe' shows the ids of runs.")
	}
	if err == nil && (newest.Run == id || newest.Chain == id) {
		return newest, nil
	}
	ref, err := execution.RefOf(namespaceOf(namespace), name)
	if err != nil {
		return nil, err
	}
	row, err := e.store.BriefRun(ctx, ref.ID, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %.300q", runName(name, run))
	case err != nil:
		return nil, journal.Coded("load "+runName(name, run), err)
	default:
		return row, nil
	}
}

// WaitRun is Wait for a run as PollRun finds it.
func (e *Engine) WaitRun(ctx context.Context, namespace, name, run string) (*journal.Execution, error) {
	if run == "" {
		return e.Wait(ctx, namespace, name)
	}
	row, err := e.PollRun(ctx, namespace, name, run)
	if err != nil || row.Superseded > 0 {
		return row, err
	}
	return e.executions.Wait(ctx, execution.RefTo(row))
}

// checkNoEarlier refuses to delete the newest run alone: the earlier ones would be under a name
// that no one finds.
func (e *Engine) checkNoEarlier(ctx context.Context, newest *journal.Execution) error {
	earlier, err := e.store.Earlier(ctx, newest.ID, 0, 1)
	switch {
	case err != nil:
		return journal.Coded("look for earlier runs", err)
	case len(earlier) > 0:
		return abi.Errorf(abi.CodeBadRequest, "this is the newest run of %s, and there are earlier ones", newest.Name()).
			WithHint("Name no run to delete the execution with all of its runs, or delete the earlier runs first.")
	}
	return nil
}

// Delete deletes a finished run by its id, or a finished execution with all of its earlier runs,
// its messages and its index entries. If the host ends meanwhile, the earlier ones may be gone and
// the newest not; so they may if the execution is started over meanwhile, which is CodeNotOver
// until the new run has ended.
func (e *Engine) Delete(ctx context.Context, namespace, name, run string) error {
	if err := e.state.Accepting(); err != nil {
		return err
	}
	for {
		row, err := e.PollRun(ctx, namespace, name, run)
		if err != nil {
			return err
		}
		if !row.State.Final() {
			return notOver(row)
		}
		if run == "" {
			err = e.deleteEarlier(ctx, row)
		} else if row.Superseded == 0 {
			err = e.checkNoEarlier(ctx, row)
		}
		if err != nil {
			return err
		}
		if err := e.deleteRun(ctx, row); !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		// Another caller has deleted it or started it over.
	}
}

// deleteEarlier deletes the earlier runs of an execution.
func (e *Engine) deleteEarlier(ctx context.Context, newest *journal.Execution) error {
	for {
		earlier, err := e.store.Earlier(ctx, newest.ID, 0, maxRunsLooked)
		if err != nil {
			return journal.Coded("delete "+newest.Name(), err)
		}
		for i := range earlier {
			if err := e.deleteRun(ctx, &earlier[i]); err != nil && !errors.Is(err, journal.ErrNotFound) {
				return err
			}
		}
		if len(earlier) < maxRunsLooked {
			return nil
		}
	}
}

// deleteRun deletes a run. ErrNotFound says that it is gone, or was superseded since it was read.
func (e *Engine) deleteRun(ctx context.Context, row *journal.Execution) error {
	faultpoint.Injector(e.cfg.FaultPoint).Pass(faultpoint.DeleteBeforeCommit)
	if err := e.writer.Delete(ctx, row); errors.Is(err, journal.ErrNotFound) {
		return err
	} else if err != nil {
		return journal.Coded("delete "+row.Name(), err)
	}
	faultpoint.Injector(e.cfg.FaultPoint).Pass(faultpoint.DeleteAfterCommit)
	return nil
}
