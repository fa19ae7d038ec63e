package observe

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// Poll reads the brief row of an execution as it is.
func (o *Observer) Poll(ctx context.Context, namespace, name string) (row *journal.Execution, err error) {
	err = o.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		row, err = o.deps.Executions.Rows.Load(ctx, ref)
		return err
	})
	return row, err
}

// PollRun is Poll of a run by its id, in hex, be it the newest of the execution or an earlier one:
// the last run of a chain, or the first. Empty means the newest.
func (o *Observer) PollRun(ctx context.Context, namespace, name, run string) (*journal.Execution, error) {
	newest, err := o.Poll(ctx, namespace, name)
	if run == "" || err != nil && abi.CodeOf(err) != abi.CodeExecutionNotFound {
		return newest, err
	}
	var id journal.RunID
	if n, err := hex.Decode(id[:], []byte(run[:min(len(run), 2*len(id))])); err != nil || n != len(id) ||
		len(run) != 2*len(id) {
		return nil, abi.Errorf(abi.CodeBadRequest, "%.40q is not the id of a run: 32 hexadecimal digits", run).
			WithHint("'cruster-host workflow describe' shows the ids of runs.")
	}
	if err == nil && (newest.Run == id || newest.Chain == id) {
		return newest, nil
	}
	ref, err := request.RefOf(cmp.Or(namespace, journal.DefaultNamespace), name)
	if err != nil {
		return nil, err
	}
	row, err := o.deps.Store.BriefRun(ctx, ref.ID, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %.300q", runName(name, run))
	case err != nil:
		return nil, journal.Coded("load "+runName(name, run), err)
	default:
		return row, nil
	}
}

// Whole is a row with its input and its value, which are read if it is brief.
func (o *Observer) Whole(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	return o.deps.Executions.Rows.Whole(ctx, row)
}

// Wait returns the brief row of the execution once it has ended or paused.
func (o *Observer) Wait(ctx context.Context, namespace, name string) (row *journal.Execution, err error) {
	err = o.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		row, err = o.deps.Executions.Ends.Wait(ctx, ref)
		return err
	})
	return row, err
}

// WaitRun is Wait for a run as PollRun finds it. After the wait it returns the run as it is then; without a wait there
// is no bound.
func (o *Observer) WaitRun(
	ctx context.Context, namespace, name, run string, wait time.Duration,
) (row *journal.Execution, err error) {
	if run == "" {
		err = o.WithRef(ctx, namespace, name, func(ref request.Ref) error {
			row, err = o.deps.Executions.Ends.WaitWithin(ctx, ref, wait)
			return err
		})
	} else {
		row, err = o.PollRun(ctx, namespace, name, run)
		if err != nil || row.Superseded > 0 {
			return row, err
		}
		row, err = o.deps.Executions.Ends.WaitWithin(ctx, request.RefTo(row), wait)
	}
	if errors.Is(err, request.ErrWaitOver) {
		return o.PollRun(ctx, namespace, name, run)
	}
	return row, err
}

// WithRef hands f the reference to an execution by its name.
func (o *Observer) WithRef(ctx context.Context, namespace, name string, f func(request.Ref) error) error {
	namespace = cmp.Or(namespace, journal.DefaultNamespace)
	ref, err := request.RefOf(namespace, name)
	if err != nil {
		return err
	}
	if err = f(ref); abi.CodeOf(err) != abi.CodeExecutionNotFound {
		return err
	}
	// A deployment or a workflow that there is not is the likely mistake.
	workflow, _, _ := journal.ParseName(name)
	missing := o.deps.Catalog.CheckWorkflow(ctx, namespace, workflow)
	if code := abi.CodeOf(missing); code == abi.CodeDeploymentNotFound || code == abi.CodeUnknownWorkflow {
		return abi.Errorf(abi.CodeExecutionNotFound, "%s: %s", abi.AsError(err).Message, abi.AsError(missing).Message)
	}
	return err
}

// runName is a run of an execution in the words of the caller.
func runName(name, run string) string {
	if run == "" {
		return name
	}
	return fmt.Sprintf("%s (run %.40s)", name, run)
}

// NotOver is the refusal of a request that only a finished execution takes.
func NotOver(row *journal.Execution) error {
	return abi.Errorf(abi.CodeNotOver, "%s is %s", row.Name(), row.State)
}

// RequireWorkflow refuses a name of neither a workflow, "deployment/Workflow", nor a deployment,
// "deployment/". A workflow that the deployed module does not have any more is known for as long
// as there are executions of it.
func (o *Observer) RequireWorkflow(ctx context.Context, namespace, workflow string) error {
	namespace = cmp.Or(namespace, journal.DefaultNamespace)
	page, err := o.List(ctx, journal.Filter{Namespace: namespace, Workflow: workflow, Limit: 1})
	if err != nil || len(page.Executions) > 0 {
		return err
	}
	if deployment, all := catalog.WholeDeployment(workflow); all {
		_, err = o.deps.Catalog.Deployment(ctx, namespace, deployment)
	} else {
		_, err = o.deps.Catalog.Workflow(ctx, namespace, workflow)
	}
	return err
}

// WorkflowOf returns the declaration of an execution's workflow in its module.
func (o *Observer) WorkflowOf(ctx context.Context, namespace, name string) (*abi.WorkflowInfo, error) {
	row, err := o.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return o.deps.Programs.Workflow(ctx, row)
}
