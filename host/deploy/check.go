package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// CheckRequest asks whether the open executions of a deployment would fit another module.
type CheckRequest struct {
	Namespace string
	// Name of the deployment.
	Name string
	// Binary is the module.
	Binary []byte
	// Types has the types of its entities compared with the stored ones, as a push does.
	Types bool
}

// CheckResult is the finding of the check for one execution.
type CheckResult struct {
	Execution *journal.Execution
	// Fits tells whether the execution could be moved to the module.
	Fits bool
	// Reason says in one line why not.
	Reason string
	// Diff shows it, if the journal and the code differ; nil otherwise.
	Diff *replay.Diff
}

// Check replays every open execution of a deployment, running or paused, on a module that need not
// be deployed. It writes nothing, and has no more executions in memory at once than there are
// processors. Report is called for one execution after the other, running ones first and the newest
// of them first, with the count done and the total. Executions paused because a turn ran for too
// long may do so again: they come last, so that a caller who does not want to wait for them can
// stop before. A deployment that does not exist is an error, but only if the module is acceptable.
// If types are compared, and a push would be refused because of them, the error is the one of the
// push, CodeStateLost, and the report is complete all the same.
func (d *Deployments) Check(
	ctx context.Context, req CheckRequest, report func(result CheckResult, done, total int) error,
) error {
	if err := d.deps.Host.Accepting(); err != nil {
		return err
	}
	namespace := cmp.Or(req.Namespace, journal.DefaultNamespace)
	// First the module: callers may not mind that there is no deployment yet.
	m, release, err := d.deps.Catalog.Borrow(ctx, req.Binary)
	if err != nil {
		return err
	}
	defer release()
	if _, err := d.deps.Catalog.Deployment(ctx, namespace, req.Name); err != nil {
		return err
	}
	open, err := d.openExecutions(ctx, namespace, req.Name)
	if err != nil {
		return err
	}
	if err := d.checkAll(ctx, open, m, report); err != nil || !req.Types {
		return err
	}
	deployed, err := d.deps.Catalog.Deployment(ctx, namespace, req.Name) // another may be, by now
	if err != nil {
		return err
	}
	return d.deps.Catalog.CheckTypes(ctx, &deployed.Deployment, m.Manifest, d.usesOf(namespace, req.Name))
}

// checkAll checks several executions at a time, and reports on them in their order, so that the first that differs is
// the same each time. Results wait in a queue for earlier results, which is as long as there are workers.
func (d *Deployments) checkAll(
	ctx context.Context, open []journal.ID, m *catalog.Module, report func(result CheckResult, done, total int) error,
) error {
	workers := runtime.GOMAXPROCS(0)
	queue := make(chan chan *CheckResult, workers)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers + 2)
	group.Go(func() error {
		defer close(queue)
		for _, id := range open {
			checked := make(chan *CheckResult, 1)
			select {
			case queue <- checked:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				result, err := d.checkOne(ctx, id, m)
				if err == nil {
					checked <- result
				}
				return err
			})
		}
		return nil
	})
	group.Go(func() error {
		done := 0
		for checked := range queue {
			select {
			case result := <-checked:
				if done++; result == nil {
					continue // it has ended by now
				}
				if err := report(*result, done, len(open)); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}

// openExecutions lists the executions of a deployment that are not over: see Check for their order.
func (d *Deployments) openExecutions(
	ctx context.Context, namespace, deployment string,
) (ids []journal.ID, err error) {
	var slow []journal.ID
	seen := map[journal.ID]bool{} // an execution paused meanwhile is in both lists
	err = d.eachOpen(ctx, namespace, deployment, func(row *journal.Execution) {
		switch {
		case seen[row.ID]:
		case row.State == journal.Paused && row.Error.RanTooLong():
			slow = append(slow, row.ID)
		default:
			ids = append(ids, row.ID)
		}
		seen[row.ID] = true
	})
	return append(ids, slow...), err
}

// checkOne replays one execution on a module; nil if it has ended. An execution that continues as a
// new run meanwhile, so that journal and row differ, is replayed again.
func (d *Deployments) checkOne(ctx context.Context, id journal.ID, m *catalog.Module) (*CheckResult, error) {
	for {
		result, err := d.checkNow(ctx, id, m)
		if err != nil || result == nil || result.Fits {
			return result, err
		}
		now, err := d.deps.Store.Brief(ctx, id)
		if err == nil && now.Run != result.Execution.Run {
			continue
		}
		return result, nil
	}
}

func (d *Deployments) checkNow(ctx context.Context, id journal.ID, m *catalog.Module) (*CheckResult, error) {
	row, err := d.deps.Store.Brief(ctx, id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && row.State.Final() {
		return nil, nil
	}
	if err != nil {
		return nil, journal.Coded("check "+id.String(), err)
	}
	result := &CheckResult{Execution: row, Fits: true}
	if row.Digest == m.Code.Digest() && row.State == journal.Running {
		return result, nil
	}
	if err := program.CheckWorkflow(m, row); err != nil {
		result.Fits, result.Reason = false, strings.TrimPrefix(abi.AsError(err).Message, row.Name()+" does not fit: ")
		return result, nil
	}
	if now, known := d.deps.Executions.Inspector.WaitsFor(ctx, row); known && row.State == journal.Running {
		row.Waiting = now
	}
	trial, err := d.deps.Executions.Recoder.Try(
		ctx,
		row,
		func(context.Context, *journal.Execution) (execution.Opening, error) {
			return d.deps.Programs.OpeningOf(m, row), nil
		},
	)
	var damaged *journal.DamagedEntry
	if errors.As(err, &damaged) {
		// It cannot be judged, and it cannot be moved. The others can.
		result.Fits, result.Reason = false, fmt.Sprintf(
			"its journal cannot be read: entry %d does not decode: %v", damaged.Seq, damaged.Cause,
		)
		return result, nil
	}
	if abi.IsHostFault(err) { // such as a journal of a later version
		result.Fits, result.Reason = false, abi.AsError(err).Message
		return result, nil
	}
	if err != nil {
		return nil, journal.Coded("check "+row.Name(), err)
	}
	if trial.Misfit != nil {
		result.Fits, result.Reason, result.Diff = false, trial.Misfit.Reason, trial.Misfit.Diff
	}
	return result, nil
}
