package grpcserver

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

const (
	// rolloutPage is how many executions are listed at a time.
	rolloutPage = 100
	// rolloutWidth is how many executions are moved at the same time: enough for their commits to share transactions,
	// few enough to leave the host to others.
	rolloutWidth = 4
)

// A rollout moves the open executions of a workflow or a deployment to a module, one by one: each
// move stands for itself, and a failed move changes nothing.
//
// It lists and moves page by page, so that its memory does not grow with the number of executions but for their ids. An
// execution that is paused while the rollout goes on would be listed twice; the ids see to it that it is moved once.
type rollout struct {
	engine    *Engine
	namespace string
	// workflow is "deployment/Workflow", or "deployment/" for all of a deployment.
	workflow string
	states   []journal.State
	to       string
	// at is the digest of executions that are there already; they are left out.
	at string
}

// run reports the outcome of each execution. It stops at a failure that is not specific to one
// execution: the store is away, the caller is gone.
func (r *rollout) run(ctx context.Context, report func(*crusterv1.MoveResult) error) error {
	seen := map[journal.ID]bool{}
	for _, state := range r.states {
		for after := ""; ; {
			page, err := r.engine.Observer.List(ctx, journal.Filter{
				Namespace: r.namespace, Workflow: r.workflow, State: state, After: after, Limit: rolloutPage,
			})
			if err != nil {
				return err
			}
			results, err := r.movePage(ctx, page.Executions, seen)
			for _, result := range results {
				if result == nil {
					continue
				}
				if err := report(result); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
			if after = page.Next; after == "" {
				break
			}
		}
	}
	return nil
}

// movePage moves executions not seen before. The result of an execution that was left out, has
// ended meanwhile, or was stopped by a failure of the whole is nil.
func (r *rollout) movePage(
	ctx context.Context, executions []journal.Execution, seen map[journal.ID]bool,
) ([]*crusterv1.MoveResult, error) {
	results := make([]*crusterv1.MoveResult, len(executions))
	var group errgroup.Group
	group.SetLimit(rolloutWidth)
	for i := range executions {
		exec := &executions[i]
		if seen[exec.ID] || (r.at != "" && exec.Digest == r.at) {
			continue
		}
		seen[exec.ID] = true
		group.Go(func() (err error) {
			results[i], err = r.move(ctx, exec)
			return err
		})
	}
	return results, group.Wait()
}

func (r *rollout) move(ctx context.Context, exec *journal.Execution) (*crusterv1.MoveResult, error) {
	moved, err := r.engine.Executions.Move(ctx, r.namespace, exec.Name(), r.to)
	result := &crusterv1.MoveResult{FromDigest: exec.Digest}
	if err != nil {
		if concernsAll(ctx, err) {
			return nil, err
		}
		if code := abi.CodeOf(err); code == abi.CodeAlreadyOver || code == abi.CodeExecutionNotFound {
			return nil, nil // it is no longer open
		}
		var misfit *host.Misfit
		if errors.As(err, &misfit) {
			result.Diff = convert.Diff(misfit.Diff)
		}
		result.Error = rpcerror.Clipped(abi.AsError(err))
		moved = exec
	}
	result.Execution, err = convert.ListedExecution(moved)
	return result, err
}

// concernsAll tells a failure that the next execution would meet as well from one of this execution.
func concernsAll(ctx context.Context, err error) bool {
	if ctx.Err() != nil || abi.CodeOf(err) == abi.CodeModuleNotFound || abi.CodeOf(err) == abi.CodeDeploymentNotFound {
		return true
	}
	switch abi.AsError(err).Code.Info().Category {
	case abi.Unavailable, abi.ResourceExhausted, abi.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// moveOpen moves the open executions of a deployment to the module that was just deployed, and
// counts their outcomes in the answer.
func (m *deploymentService) moveOpen(
	ctx context.Context, namespace string, info *host.DeploymentInfo, resp *crusterv1.PushResult,
) error {
	ctx, cancel := m.lifetime.bound(ctx)
	defer cancel()
	r := rollout{
		engine: m.engine, namespace: namespace, workflow: info.Name + "/", to: info.Digest, at: info.Digest,
		states: []journal.State{journal.Running, journal.Paused},
	}
	err := r.run(ctx, func(result *crusterv1.MoveResult) error {
		if result.GetError() == nil {
			resp.Moved++
			return nil
		}
		if resp.Unmoved++; resp.GetFirstUnmoved() == nil {
			resp.FirstUnmoved = result
		}
		return nil
	})
	if err == nil {
		return nil
	}
	about := *abi.AsError(err)
	about.Message = fmt.Sprintf(
		"version %d of %s is deployed; of its open executions %d were moved before this failed: %s",
		info.Version, info.Name, resp.GetMoved(), about.Message,
	)
	return (&about).WithHint("'cruster-host workflow move --workflow %s/' moves the rest.", info.Name)
}
