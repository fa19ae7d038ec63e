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
	if r.row.State.Final() {
		return alreadyOver(r.row)
	}
	if r.row.Interrupt != nil {
		return nil
	}
	r.Fault.Pass(faultpoint.InterruptBeforeCommit)
	if _, err := r.Committer.Commit(journal.Write{ID: r.id, Run: r.row.Run, Interrupt: &i}); err != nil {
		return err
	}
	r.Fault.Pass(faultpoint.InterruptAfterCommit)
	r.row.Interrupt = &i
	r.wokenByNews()
	r.locked(func(l *ledger) { l.ops.Interrupted() })
	return nil
}
