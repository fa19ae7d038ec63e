package schedule

import (
	"context"
	"slices"

	"github.com/cruster/cruster/abi"
)

// adopt records the start that another host, or this one before a failure, has made and
// not recorded. It is the only one that the row does not know of, and the row names it: see
// the invariants of the package.
func (r *Schedules) adopt(ctx context.Context, p *plan) error {
	r.mu.Lock()
	known := r.known[p.ID()] == p.Version
	r.mu.Unlock()
	if known {
		return nil
	}
	for _, st := range p.candidates() {
		e, err := r.Starter.Poll(ctx, p.Namespace, p.executionOf(st))
		if abi.CodeOf(err) == abi.CodeExecutionNotFound {
			continue
		}
		if err != nil {
			return err
		}
		p.started(st, e.State)
		break
	}
	if p.changed {
		return r.commit(ctx, p)
	}
	r.know(p.Schedule)
	return nil
}

// lookAtRuns learns what became of the runs that were not over.
func (r *Schedules) lookAtRuns(ctx context.Context, p *plan) error {
	for _, open := range slices.Clone(p.State.Open) {
		e, err := r.Starter.Poll(ctx, p.Namespace, open.Execution)
		switch {
		case abi.CodeOf(err) == abi.CodeExecutionNotFound: // retention has deleted it
			p.over(open.Execution, "", p.now)
		case err != nil:
			return err
		case e.State.Final():
			p.over(open.Execution, e.State, e.FinishedAt)
		default:
			p.looked(open.Execution, e.State)
		}
	}
	return nil
}
