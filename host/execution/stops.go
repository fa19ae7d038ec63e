package execution

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Stops brings executions to their end, whatever their code does.
type Stops struct {
	asked    asker
	ending   *actor.FairQueue[journal.RunID] // ends of executions that runs have given up, by the run
	messages *request.Sender
	runs     *registry
}

// Terminate ends an execution at once, running or paused: its code does not run again, so that
// nothing is cleaned up. It gives up its callees, and its locks are free. A turn in flight is
// aborted. It returns once that is durable, also if the execution had been terminated before.
func (s *Stops) Terminate(ctx context.Context, ref request.Ref, reason string) error {
	if ref.Chain.IsZero() {
		row, err := s.asked.rows.Load(ctx, ref)
		if err != nil {
			return err
		}
		ref.Chain = row.Chain // another run may take its place meanwhile
	}
	ended := make(chan error, 1)
	over := abi.CodeAlreadyOver
	err := s.messages.Stop(ctx, ref, journal.TerminateMessage, reason, ended)
	if err == nil {
		over = abi.CodeExecutionNotFound
		err = s.awaitEnd(ctx, ref, ended)
	}
	if err == nil || abi.CodeOf(err) != over {
		return err
	}
	return s.endOf(ctx, ref, err)
}

// endOf is the reply to a request to terminate a run that has ended without it, and perhaps been replaced or deleted.
func (s *Stops) endOf(ctx context.Context, ref request.Ref, refusal error) error {
	row, err := s.asked.rows.LoadRun(ctx, ref)
	switch {
	case abi.CodeOf(err) == abi.CodeExecutionNotFound:
		return refusal
	case err != nil:
		return errors.Join(err, refusal)
	case row.State == journal.Interrupted && abi.CodeOf(row.Error) == abi.CodeTerminated:
		return nil // by this very request, if its answer was lost
	case row.State.Final():
		return request.AlreadyOver(row)
	default:
		return refusal
	}
}

// awaitEnd waits for the end of a run that was told of a request to end it, and aborts its turns
// until then. It is not replayed for that: its code may never return.
func (s *Stops) awaitEnd(ctx context.Context, ref request.Ref, ended chan error) error {
	defer s.cancelTurns(ctx, ref, ended)()
	return s.asked.await(ctx, ref, ended)
}

// maxEnding bounds the executions that are ended at the same time because they were given up.
const maxEnding = 64

// tellStopped tells executions that requests to stop are in their inboxes.
func (s *Stops) tellStopped(sent []journal.Sent) {
	if slices.ContainsFunc(sent, func(m journal.Sent) bool { return m.Kind.Stops() }) {
		s.asked.deps.Fault.Pass(faultpoint.GiveUpAfter)
	}
	for i := range sent {
		switch m := &sent[i]; m.Kind {
		case journal.InterruptMessage:
			s.runs.Post(m.To, ofChain{m.Chain, lookForMail{}})
		case journal.TerminateMessage:
			s.ending.Go(m.From.Run, func() {
				taken := make(chan error, 1)
				s.runs.Post(m.To, ofChain{m.Chain, lookForMail{taken}})
				_ = s.awaitEnd(s.asked.deps.Host.Context(), request.Ref{ID: m.To, Chain: m.Chain}, taken)
			})
		}
	}
}

// cancelInterval is the interval between two tries to cancel a turn. One may have begun just after
// the last look.
const cancelInterval = 100 * time.Millisecond

// cancelTurns cancels the turns of a chain until stop is called.
func (s *Stops) cancelTurns(ctx context.Context, ref request.Ref, ended chan<- error) (stop func()) {
	ctx, done := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ticker := s.asked.deps.Clock.NewTicker(cancelInterval)
		defer ticker.Stop()
		for {
			s.cancelTurn(ctx, ref, ended)
			select {
			case <-ctx.Done():
				return
			case <-ticker.Chan():
			}
		}
	}()
	return func() { done(); <-over }
}

// cancelTurn cancels the running turn, if there is one. If it is a turn of another chain, this one may have ended: the
// run would say so behind that turn, which may take long.
func (s *Stops) cancelTurn(ctx context.Context, ref request.Ref, ended chan<- error) {
	if r, found := s.runs.Get(ref.ID); !found || !r.progress.cancel(ref.Chain) {
		return
	}
	if _, err := s.asked.rows.Load(ctx, ref); abi.CodeOf(err) == abi.CodeExecutionNotFound {
		answer(ended, err)
	}
}
