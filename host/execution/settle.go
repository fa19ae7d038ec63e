package execution

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Settle resolves (Value, nil if it was left out) or rejects (Error) a deferred of an
// execution. It returns once that is durable; if the deferred was settled before, the first
// settlement stands and the error says so. A settlement that names its origin may be
// repeated: the same one is not another.
func (x *Executions) Settle(ctx context.Context, ref Ref, d journal.Deferred) error {
	if err := abi.CheckName("deferred", d.Name); err != nil {
		return abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	if d.Error != nil {
		failure := *d.Error // the caller's stays as it is: it may be the body of a pending op
		failure.Clamp()
		failure.Code = cmp.Or(failure.Code, abi.CodeDeferredRejected)
		d.Value, d.Error = nil, &failure
	}
	row, err := x.Load(ctx, ref)
	if err != nil {
		return err
	}
	if err := x.checkSettlement(ctx, row, &d); err != nil {
		return err
	}
	d.At = x.now()
	if d.Origin == (journal.Origin{}) {
		d.Origin = journal.NewOrigin()
	}
	ref.Chain = row.Chain // it was checked against this one's workflow
	return x.tell(ctx, ref, settlementNews{d})
}

// checkSettlement refuses a settlement of a deferred that the workflow of the execution does
// not have, or with a value that does not fit, and makes the value canonical. An execution
// that is over takes none, whatever it says. One that has this settlement already answers as
// it did then, though it may have been moved to other code meanwhile.
func (x *Executions) checkSettlement(ctx context.Context, row *journal.Execution, d *journal.Deferred) error {
	if row.State.Final() {
		return nil
	}
	err := x.fitDeferred(ctx, row, d)
	if err != nil && d.Origin != (journal.Origin{}) {
		first, unknown := journal.FindSettlement(ctx, x.Store, row.Settlements(), d.Name)
		if unknown == nil && first.Origin == d.Origin {
			return nil
		}
	}
	return err
}

// fitDeferred makes the value of a settlement one that the workflow has declared.
func (x *Executions) fitDeferred(ctx context.Context, row *journal.Execution, d *journal.Deferred) error {
	workflow, err := x.WorkflowOf(ctx, row)
	if err != nil {
		return err
	}
	declared, err := workflow.Deferred(d.Name)
	if err != nil || d.Error != nil {
		return err
	}
	value, err := declared.CheckValue(d.Value)
	if err == nil {
		d.Value = value
	}
	return err
}

func alreadyOver(row *journal.Execution) error {
	return abi.Errorf(abi.CodeAlreadyOver, "%s is %s", row.Name(), row.State)
}

func settledBefore(name string, row *journal.Execution) error {
	return abi.Errorf(abi.CodeDeferredSettled, "the deferred %q of %s was settled before", name, row.Name())
}

// settlementNews is that a deferred is settled. The commit marks the row to be loaded, so that a crash right after it
// wakes the execution all the same.
type settlementNews struct{ deferred journal.Deferred }

func (n settlementNews) write(_ context.Context, _ *Executions, k knowledge) (*journal.Write, error) {
	settled, err := k.settled()
	if err != nil {
		return nil, err
	}
	if known, err := settled.check(n.deferred, k.row); err != nil || known {
		return nil, err
	}
	return &journal.Write{ID: k.row.ID, Run: k.row.Run, Chain: k.row.Chain, Receive: n.deferred.Message()}, nil
}

func (n settlementNews) answer(res journal.Result, row *journal.Execution) error {
	if res.Existed {
		return settledBefore(n.deferred.Name, row)
	}
	return nil
}

func (n settlementNews) learned(r *run, _ *journal.Write, res journal.Result) {
	r.wokenByNews()
	r.deferreds.add(n.deferred, res.Position)
	r.locked(func(l *ledger) { l.ops.Settled(n.deferred.Name) })
}

func (settlementNews) points() (before, after string) {
	return faultpoint.SettleBeforeCommit, faultpoint.SettleAfterCommit
}

func (n settlementNews) doing() string { return "settle " + n.deferred.Name + " of" }
