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
		first, unknown := x.Store.Deferred(ctx, row.RunKey(), d.Name)
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

// settle makes a settlement durable. The row is marked to be loaded in the same
// commit, so that a crash right after it wakes the execution all the same.
func (r *run) settle(d journal.Deferred) error {
	if known, err := r.deferreds.check(d, r.row); err != nil || known {
		return err
	}
	r.Fault.Pass(faultpoint.SettleBeforeCommit)
	res, err := r.Committer.Commit(journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Settle: &d})
	if err != nil {
		return err
	}
	r.Fault.Pass(faultpoint.SettleAfterCommit)
	if res.Existed {
		err := settledBefore(d.Name, r.row)
		r.reload(batch{}) // the store knows more than this run
		return err
	}
	r.wokenByNews()
	r.deferreds.add(d)
	r.locked(func(l *ledger) { l.ops.Settled(d.Name) })
	return nil
}

func alreadyOver(row *journal.Execution) error {
	return abi.Errorf(abi.CodeAlreadyOver, "%s is %s", row.Name(), row.State)
}

func settledBefore(name string, row *journal.Execution) error {
	return abi.Errorf(abi.CodeDeferredSettled, "the deferred %q of %s was settled before", name, row.Name())
}

// settlementNews is that a deferred is settled.
type settlementNews struct{ deferred journal.Deferred }

func (n settlementNews) request(reply chan<- error) notice { return settleRequest{n.deferred, reply} }

func (n settlementNews) write(ctx context.Context, x *Executions, row *journal.Execution) (*journal.Write, error) {
	list, err := x.Store.Deferreds(ctx, row.RunKey())
	if err != nil {
		return nil, journal.Coded("read the deferreds of "+row.Name(), err)
	}
	settled := newSettlements()
	settled.set(list)
	known, err := settled.check(n.deferred, row)
	if err != nil || known {
		return nil, err
	}
	return &journal.Write{ID: row.ID, Run: row.Run, Chain: row.Chain, Settle: &n.deferred}, nil
}

func (n settlementNews) answer(res journal.Result, row *journal.Execution) error {
	if res.Existed {
		return settledBefore(n.deferred.Name, row)
	}
	return nil
}

func (settlementNews) points() (before, after string) {
	return faultpoint.SettleBeforeCommit, faultpoint.SettleAfterCommit
}
