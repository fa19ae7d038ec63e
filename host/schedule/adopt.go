package schedule

import (
	"context"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// adopt records the start that another host, or this one before a failure, has made and not
// recorded. It is the only start that the row has not recorded, and the row names it: see the
// invariants of the package.
func (r *Schedules) adopt(ctx context.Context, p *plan) error {
	r.mu.Lock()
	known := r.known[p.ID()] == p.Version
	r.mu.Unlock()
	if known {
		return nil
	}
	for _, st := range p.candidates() {
		e, err := r.poll(ctx, p, p.executionOf(st))
		if err != nil {
			return err
		}
		if e == nil {
			continue
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

// lookAtRuns learns the outcomes of the open runs.
func (r *Schedules) lookAtRuns(ctx context.Context, p *plan) error {
	for _, open := range slices.Clone(p.State.Open) {
		e, err := r.poll(ctx, p, open.Execution)
		switch {
		case err != nil:
			return err
		case e == nil: // retention has deleted it
			p.over(open.Execution, "", p.now)
		case e.State.Final():
			p.over(open.Execution, e.State, e.FinishedAt)
		default:
			p.looked(open.Execution, e.State)
		}
	}
	return nil
}

// poll reads a run; nil if there is none. An unreadable run counts as open, in an unknown state: it
// blocks its own schedule at most.
func (r *Schedules) poll(ctx context.Context, p *plan, execution string) (*journal.Execution, error) {
	e, err := r.Starter.Poll(ctx, p.Namespace, execution)
	switch abi.CodeOf(err) {
	case abi.CodeExecutionNotFound:
		return nil, nil
	case abi.CodeHostFault:
		r.Logger.Error("a run of a schedule cannot be read; it counts as one that is not over",
			"schedule", p.Name, "namespace", p.Namespace, "error", err)
		return &journal.Execution{}, nil
	}
	return e, err
}
