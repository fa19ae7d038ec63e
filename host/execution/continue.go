package execution

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// A workflow that goes on for years ends its run now and then, and another one takes its place: with an empty journal,
// under the same name.
//
// Invariants:
//
//  1. The end of the one and the beginning of the other are one commit. It takes the signals that
//     the workflow has looked at and leaves all others in the inbox, delivered ones as well; so it
//     looks at each once, in the one run or in the other. Of these the next run knows the names,
//     and no payloads: those may be large.
//  2. The host's tasks for the old run end with it, as at any end, and their late notices are
//     ignored: notices of tasks name their run.
//  3. Callers that query the execution or wait for it mean the chain of runs, and do not notice.
//
// If the answer to the commit is lost, the run is loaded: the row names the new run or the old one. The old one takes
// its last turn again.

// nextRun is the run that takes the place of this one, if the turn says so; nil if not. An input that does not fit is
// the failure of the workflow.
func (r *run) nextRun(turn *guest.Turn) (*journal.Continuation, error) {
	if !turn.Continues() {
		return nil, nil
	}
	asked := turn.Outcome.Continue
	next, err := r.deps.Programs.Continuation(r.deps.Host.Context(), r.row, asked.Input)
	var misfit *abi.Error
	if errors.As(err, &misfit) && misfit.Code == abi.CodeBadInput {
		failure := *misfit
		failure.Message = "the workflow cannot continue as a new run: " + misfit.Message
		turn.Outcome = &abi.Outcome{Error: &failure}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	next.Run = journal.NewRunID()
	next.Pinned.Seed, next.Pinned.OnCancel, next.Pinned.ReplyTo = next.Run, r.row.Pinned.OnCancel, r.row.Pinned.ReplyTo
	return &next, nil
}

// goOnAs has another run take the place of this one, with the effects of the last turn. It reports
// that the run does not go on: the other one begins when it is its turn, as any execution does that
// has something to do.
func (r *run) goOnAs(next journal.RunID, b ledger.Batch, turn guest.Turn, did ledger.Effects, d ledger.Decision) bool {
	r.deps.Fault.Pass(faultpoint.ContinueBeforeCommit)
	passAnswers(r.deps.Fault, did, faultpoint.AnswerBeforeCommit)
	return r.commit("continue as a new run", d.Write, b, func() bool {
		r.deps.Fault.Pass(faultpoint.ContinueAfterCommit)
		passAnswers(r.deps.Fault, did, faultpoint.AnswerAfterCommit)
		r.tellCallers(did)
		r.turnLog().write(turn)
		r.deps.metrics.continued.Inc()
		r.log.Debug("continues as a new run", "run", next)
		r.setSection(journal.StepID{})
		r.beginAnew(next)
		r.unload()
		r.life.continueAs()
		r.hand.requeue(wake{})
		return false
	})
}
