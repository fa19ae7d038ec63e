package observe

import (
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
)

const (
	// maxCircle is how long a circle may be that is told.
	maxCircle = 100
	// maxCallers is how many callers are looked at for a circle.
	maxCallers = 1000
)

// describeCircle names the executions that wait for each other, the given one first: it waits for
// the next, and the last one waits for it. There are none if there is no such circle, or if too
// many executions would have to be looked at. Of several circles it is a short one.
//
// The search goes from the first to its callers, and from these on, until it is back: most
// executions have few callers, and many callees.
func (o *Observer) describeCircle(ctx context.Context, first *journal.Execution) (names []string) {
	type caller struct {
		row      *journal.Execution
		waitsFor *caller
	}
	seen := map[journal.ID]bool{}
	for queue := []*caller{{row: first}}; len(queue) > 0; queue = queue[1:] {
		callee := queue[0]
		for _, step := range o.callersOf(ctx, callee.row) {
			if seen[step.ID] || ctx.Err() != nil {
				continue
			}
			if len(seen) == maxCallers {
				return nil
			}
			seen[step.ID] = true
			row, err := o.deps.Store.Brief(ctx, step.ID)
			if err != nil || row.State != journal.Running || !o.deps.Executions.Inspector.Awaits(row, step) {
				continue
			}
			if row.ID != first.ID {
				queue = append(queue, &caller{row, callee})
				continue
			}
			for c := callee; c != nil; c = c.waitsFor {
				names = append(names, c.row.Name())
			}
			// From the first on.
			names = append(names[len(names)-1:], names[:len(names)-1]...)
			if len(names) > maxCircle {
				return nil
			}
			return names
		}
	}
	return nil
}

// callersOf are the steps that are to be sent the result of an execution. Their runs are the first of their chains.
func (o *Observer) callersOf(ctx context.Context, row *journal.Execution) (steps []journal.Caller) {
	if chain := row.Pinned.ReplyTo; chain != nil {
		steps = append(steps, journal.Caller{ID: row.Parent.ID, Run: *chain, Step: row.Parent.Step})
	}
	inbox, err := o.deps.Store.Inbox(ctx, row.Receiver(), 0)
	if err != nil {
		return steps
	}
	for _, m := range inbox {
		if m.Kind == journal.AwaitMessage && !slices.Contains(steps, m.From) {
			steps = append(steps, m.From)
		}
	}
	return steps
}
