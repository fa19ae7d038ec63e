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

// isInterrupted tells whether an execution was asked to stop before. One that is over cannot be.
func isInterrupted(row *journal.Execution) (bool, error) {
	if row.State.Final() {
		return false, alreadyOver(row)
	}
	return row.Interrupt != nil, nil
}

// interruptNews is that an execution is to stop.
type interruptNews struct{ interrupt journal.Interrupt }

func (n interruptNews) write(_ context.Context, _ *Executions, k knowledge) (*journal.Write, error) {
	if known, err := isInterrupted(k.row); known || err != nil {
		return nil, err
	}
	return &journal.Write{ID: k.row.ID, Run: k.row.Run, Chain: k.row.Chain, Interrupt: &n.interrupt}, nil
}

func (interruptNews) answer(journal.Result, *journal.Execution) error { return nil }

func (n interruptNews) learned(r *run, _ *journal.Write, _ journal.Result) {
	r.row.Interrupt = &n.interrupt
	r.wokenByNews()
	r.locked(func(l *ledger) { l.ops.Interrupted() })
}

func (interruptNews) points() (before, after string) {
	return faultpoint.InterruptBeforeCommit, faultpoint.InterruptAfterCommit
}

func (interruptNews) doing() string { return "interrupt" }
