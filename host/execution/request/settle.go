package request

import (
	"cmp"
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Settle resolves (Value, nil if it was left out) or rejects (Error) a deferred of an execution. It returns once that
// is durable; if the deferred was settled before, the first settlement stands and the error says so. A settlement that
// names its origin may be repeated: the same one is not another.
func (s *Sender) Settle(ctx context.Context, ref Ref, d journal.Deferred) error {
	if err := abi.CheckName("deferred", d.Name); err != nil {
		return abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	if d.Error != nil {
		failure := *d.Error // the caller's stays as it is: it may be the body of a pending op
		failure.Clamp()
		failure.Code = cmp.Or(failure.Code, abi.CodeDeferredRejected)
		d.Value, d.Error = nil, &failure
	}
	d.At = s.now()
	if d.Origin == (journal.Origin{}) {
		d.Origin = journal.NewOrigin()
	}
	for {
		row, err := s.Rows.Load(ctx, ref)
		if err != nil {
			return err
		}
		if err = s.settleRun(ctx, row, d); !errors.Is(err, errRunGone) {
			return err
		}
		ref = RefTo(row) // of its chain, the run that is there now: its deferreds may be others
	}
}

// errRunGone says that a run has ended or is gone, or has continued as another one.
var errRunGone = errors.New("request: the run is over")

// settleRun settles a deferred of a run. It returns errRunGone if the run has ended or is gone meanwhile.
func (s *Sender) settleRun(ctx context.Context, row *journal.Execution, d journal.Deferred) error {
	if err := s.checkSettlement(ctx, row, &d); err != nil {
		return err
	}
	known := func(ctx context.Context, row *journal.Execution) error { return s.settledAs(ctx, row, &d) }
	return s.send(ctx, row, letter{
		message: *d.Message(),
		before:  faultpoint.SettleBeforeCommit,
		after:   faultpoint.SettleAfterCommit,
		existed: known,
		forRun:  true,
		idle: func(ctx context.Context, row *journal.Execution) (bool, error) {
			if !row.State.Final() {
				return false, nil
			}
			return true, known(ctx, row)
		},
	})
}

// checkSettlement refuses a settlement of a deferred that the workflow of the execution does not
// have, or with a value that does not fit, and makes the value canonical. A finished execution
// takes none, whatever it says. An execution that has this settlement already answers as it did
// then, though it may have been moved to other code meanwhile.
func (s *Sender) checkSettlement(ctx context.Context, row *journal.Execution, d *journal.Deferred) error {
	if row.State.Final() {
		return nil
	}
	err := s.fitDeferred(ctx, row, d)
	if err != nil {
		first, unknown := journal.FindSettlement(ctx, s.Rows.Store, row.Settlements(), d.Name)
		if unknown == nil && first.Origin == d.Origin {
			return nil
		}
	}
	return err
}

// fitDeferred converts the value of a settlement to the type declared by the workflow.
func (s *Sender) fitDeferred(ctx context.Context, row *journal.Execution, d *journal.Deferred) error {
	workflow, err := s.Workflows.Workflow(ctx, row)
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

// settledAs tells whether a deferred was settled by this very settlement, and if not why it cannot be any more.
func (s *Sender) settledAs(ctx context.Context, row *journal.Execution, d *journal.Deferred) error {
	first, err := journal.FindSettlement(ctx, s.Rows.Store, row.Settlements(), d.Name)
	switch {
	case errors.Is(err, journal.ErrNotFound) && row.State.Final():
		return AlreadyOver(row)
	case errors.Is(err, journal.ErrNotFound): // the run has continued, and has taken it along
		return err
	case err != nil:
		return journal.Coded("read the deferreds of "+row.Name(), err)
	case first.Origin != d.Origin:
		return settledBefore(d.Name, row)
	}
	return nil
}
