package request

import (
	"context"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Interrupt asks an execution to stop. It returns once the request is durable; the execution then runs its cleanup.
func (s *Sender) Interrupt(ctx context.Context, ref Ref, reason string) error {
	return s.Stop(ctx, ref, journal.InterruptMessage, reason, nil)
}

// Stop puts a request to stop into the inbox of an execution, and tells its run. The reply comes once the run has taken
// it.
func (s *Sender) Stop(ctx context.Context, ref Ref, kind journal.MessageKind, reason string, reply chan<- error) error {
	reason, err := CheckReason(reason)
	if err != nil {
		return err
	}
	row, err := s.Rows.Load(ctx, ref)
	if err != nil {
		return err
	}
	i := journal.Interrupt{At: s.now(), Reason: reason}
	return s.send(ctx, row, letter{
		message: StopMessage(kind, row.Chain, i),
		before:  faultpoint.InterruptBeforeCommit,
		after:   faultpoint.InterruptAfterCommit,
		reply:   reply,
		idle: func(_ context.Context, row *journal.Execution) (bool, error) {
			switch {
			case kind == journal.InterruptMessage && row.Interrupt != nil &&
				(!row.State.Final() || *row.Interrupt == i):
				return true, nil // the first one stands; it may be this one, if its answer was lost
			case row.State.Final():
				return true, AlreadyOver(row)
			}
			return false, nil
		},
	})
}
