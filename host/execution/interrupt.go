package execution

import (
	"context"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Interrupt asks an execution to stop. It returns once the request is durable; the
// execution then runs its cleanup.
func (x *Executions) Interrupt(ctx context.Context, ref Ref, reason string) error {
	reason, err := checkReason(reason)
	if err != nil {
		return err
	}
	i := journal.Interrupt{At: x.now(), Reason: reason}
	return x.tell(ctx, ref, interruptNews{i})
}

// interrupt makes a request to stop durable.
func (r *run) interrupt(i journal.Interrupt) error {
	if known, err := isInterrupted(r.row); known || err != nil {
		return err
	}
	r.Fault.Pass(faultpoint.InterruptBeforeCommit)
	if _, err := r.Committer.Commit(journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Interrupt: &i}); err != nil {
		return err
	}
	r.Fault.Pass(faultpoint.InterruptAfterCommit)
	r.row.Interrupt = &i
	r.wokenByNews()
	r.locked(func(l *ledger) { l.ops.Interrupted() })
	return nil
}

// isInterrupted tells whether an execution was asked to stop before. One that is over cannot be.
func isInterrupted(row *journal.Execution) (bool, error) {
	if row.State.Final() {
		return false, alreadyOver(row)
	}
	return row.Interrupt != nil, nil
}

// interruptNews is that an execution is to stop.
type interruptNews struct{ interrupt journal.Interrupt }

func (n interruptNews) request(reply chan<- error) notice {
	return interruptRequest{n.interrupt, reply}
}

func (n interruptNews) write(_ context.Context, _ *Executions, row *journal.Execution) (*journal.Write, error) {
	if known, err := isInterrupted(row); known || err != nil {
		return nil, err
	}
	return &journal.Write{ID: row.ID, Run: row.Run, Chain: row.Chain, Interrupt: &n.interrupt}, nil
}

func (interruptNews) answer(journal.Result, *journal.Execution) error { return nil }

func (interruptNews) points() (before, after string) {
	return faultpoint.InterruptBeforeCommit, faultpoint.InterruptAfterCommit
}
