package execution

import (
	"context"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Stops brings executions to their end, whatever their code does.
type Stops struct {
	ending   *actor.FairQueue[journal.RunID] // ends of executions that runs have given up, by the run
	messages *request.Sender
	runs     asker
}

// Terminate ends an execution at once, running or paused: its code does not run again, so that
// nothing is cleaned up. It gives up its callees, and its locks are free. A turn in flight is
// aborted. It returns once that is durable, also if the execution had been terminated before.
func (s *Stops) Terminate(ctx context.Context, ref request.Ref, reason string) error {
	ended := make(chan error, 1)
	err := s.messages.Stop(ctx, ref, journal.TerminateMessage, reason, ended)
	if err == nil {
		return s.awaitEnd(ctx, ref, ended)
	}
	if abi.CodeOf(err) != abi.CodeAlreadyOver {
		return err
	}
	row, lerr := s.runs.rows.Load(ctx, ref)
	if lerr == nil && row.State == journal.Interrupted && abi.CodeOf(row.Error) == abi.CodeTerminated {
		return nil // by this very request, if its answer was lost
	}
	return errors.Join(lerr, err)
}

// awaitEnd waits for the end of a run that was told of a request to end it, and aborts its turns
// until then. It is not replayed for that: its code may never return.
func (s *Stops) awaitEnd(ctx context.Context, ref request.Ref, ended <-chan error) error {
	defer s.cancelTurns(ref.ID)()
	return s.runs.await(ctx, ref, ended)
}

// maxEnding bounds the executions that are ended at the same time because they were given up.
const maxEnding = 64

// tell tells executions that requests to stop are in their inboxes.
func (s *Stops) tell(sent []journal.Sent) {
	if slices.ContainsFunc(sent, func(m journal.Sent) bool { return m.Kind.Stops() }) {
		s.runs.deps.Fault.Pass(faultpoint.GiveUpAfter)
	}
	for i := range sent {
		switch m := &sent[i]; m.Kind {
		case journal.InterruptMessage:
			s.runs.runs.Post(m.To, ofChain{m.Chain, lookForMail{}})
		case journal.TerminateMessage:
			s.ending.Go(m.From.Run, func() {
				taken := make(chan error, 1)
				s.runs.runs.Post(m.To, ofChain{m.Chain, lookForMail{taken}})
				_ = s.awaitEnd(s.runs.deps.Host.Context(), request.Ref{ID: m.To, Chain: m.Chain}, taken)
			})
		}
	}
}

// end ends the execution without asking it. Its guest does not run again, so that nothing can keep
// it from ending; it gives up its callees.
func (r *run) end(i journal.Interrupt) {
	if r.row.Interrupt == nil { // the first request stands
		r.row.Interrupt = &i
	}
	stops, err := r.stopAll()
	if err != nil {
		r.rollBack(ledger.Batch{}, err)
		return
	}
	failure := abi.Errorf(abi.CodeTerminated, "%s", i.Reason)
	failure.Clamp()
	u := journal.Update{
		State:      journal.Interrupted,
		WakeAt:     journal.Never,
		Error:      failure,
		FinishedAt: max(r.execs.now(), r.row.CreatedAt),
		Waiting:    r.row.Waiting,
	}
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &u, Send: stops}
	ledger.Acknowledge(&w, r.mail.asked, r.row.Interrupt)
	r.execs.Fault.Pass(faultpoint.TerminateBeforeCommit)
	r.commit("terminate", w, ledger.Batch{}, func() bool {
		r.execs.Fault.Pass(faultpoint.TerminateAfterCommit)
		r.applyUpdate(u)
		r.execs.Queries.answering.breakOff(r.run)
		r.log.Info("terminated", "reason", i.Reason)
		r.finish()
		return false
	})
}
