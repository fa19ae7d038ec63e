package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Starter makes the rows of new executions durable, and sets them to work.
type Starter struct {
	deps     *runDeps
	eager    *eagerStarts
	hasRoom  func() bool // or else has others leave memory
	messages *request.Sender
	runs     holder
}

// holder holds the names of executions, so that no run of theirs is forgotten.
type holder interface {
	// Hold tells whether there is no run of the name in memory.
	Hold(id journal.ID) (alone bool)
	Unhold(id journal.ID, notices ...notice)
}

// Start makes the row of a new execution durable and sets it to work. If one of the same name is there already, nothing
// is changed and existed is true.
//
// From the moment the row is durable until this call goes on, the run may be found in the store by
// others, loaded, run to its end and forgotten. If this call then brought its row along as new, the
// execution would run a second time. So the run is held meanwhile: if it was loaded it is still in
// memory, and knows that the row is not news.
//
// A signal may come with it: then both are durable, or neither.
func (st *Starter) Start(
	ctx context.Context, row *journal.Execution, with *message.Signal,
) (existed bool, err error) {
	return st.startOver(ctx, row, journal.RunID{}, with)
}

// StartOver is Start of a run that replaces a finished run, if that is there still: see
// [journal.EarlierOf]. If another run is there by now, existed is true. Nothing has to be done for
// the finished run: no one waits for it any more, and if it is in memory, it makes room when it
// learns of another chain.
func (st *Starter) StartOver(
	ctx context.Context, row *journal.Execution, over journal.RunID, with *message.Signal,
) (existed bool, err error) {
	return st.startOver(ctx, row, over, with)
}

// startOver starts an execution, in the place of a finished run if that is named.
func (st *Starter) startOver(
	ctx context.Context, row *journal.Execution, over journal.RunID, with *message.Signal,
) (existed bool, err error) {
	w := journal.Write{ID: row.ID, Run: row.Run, Chain: row.Chain, Start: row, Replace: over}
	before, after := faultpoint.StartBeforeCommit, faultpoint.StartAfterCommit
	if !over.IsZero() {
		before, after = faultpoint.RestartBeforeCommit, faultpoint.RestartAfterCommit
	}
	if with != nil {
		m, err := st.messages.SignalMessage(ctx, row, *with)
		if err != nil {
			return false, err
		}
		w.Receive = &m
	}
	st.deps.Fault.Pass(before)
	if existed, err = st.StartWrite(ctx, w); err != nil || existed {
		return existed, err
	}
	st.deps.Fault.Pass(after)
	return false, nil
}

// StartWrite is Start of a write, which may bring a journal along.
func (st *Starter) StartWrite(ctx context.Context, w journal.Write) (existed bool, err error) {
	row := w.Start
	input, err := st.admitInput(ctx, row)
	if err != nil {
		return false, err
	}
	taken := false
	defer func() {
		if !taken {
			input.Release()
		}
	}()
	alone := st.runs.Hold(row.ID)
	var head *eagerStart
	if alone && len(w.Entries) == 0 {
		head = st.beginEagerly(row)
	}
	res, err := st.commitStart(ctx, w)
	switch {
	case errors.Is(err, journal.ErrUndecided):
		// It was given up before the store could tell. If it is there it must run.
		st.runs.Unhold(row.ID, wake{})
		head.discard()
	case err == nil && !res.Existed && len(w.Entries) > 0:
		st.runs.Unhold(row.ID, wake{}) // to be replayed
	case err == nil && !res.Existed && w.Receive != nil && res.Position == 0:
		// The answer was lost, and with it where the message is: the inbox tells.
		st.runs.Unhold(row.ID, wake{})
		head.discard()
	case err != nil || res.Existed:
		st.runs.Unhold(row.ID)
		head.discard()
	default:
		s := started{row: row, head: head, input: input}
		if w.Receive != nil {
			w.Receive.Position = res.Position
			s.received = []journal.Message{*w.Receive}
		}
		taken = true
		st.runs.Unhold(row.ID, s)
	}
	if err != nil {
		return false, journal.Coded("start "+row.Name(), err)
	}
	if res.Existed {
		return true, nil
	}
	st.deps.metrics.started.Inc()
	return false, nil
}

// commitStart makes a start durable. If the answer to its commit was lost, the row tells: had it been of another start,
// it would have been there before.
func (st *Starter) commitStart(ctx context.Context, w journal.Write) (journal.Result, error) {
	return st.deps.decider().Do(ctx, w, func(_ journal.Result, refusal error) (journal.Result, error) {
		if errors.Is(refusal, journal.ErrSwept) { // the commit that had no answer took effect
			return journal.Result{}, abi.Errorf(
				abi.CodeExecutionNotFound, "%s was started and has finished, and was deleted before the store answered",
				w.Start.Name(),
			)
		}
		found, err := st.deps.Store.Brief(ctx, w.ID)
		switch {
		case err == nil && found.Chain == w.Run: // it may have continued since
			return journal.Result{}, nil
		case err == nil && (refusal == nil || found.Run != w.Replace):
			return journal.Result{Existed: true}, nil
		default:
			return journal.Result{}, journal.ErrUndecided
		}
	})
}
