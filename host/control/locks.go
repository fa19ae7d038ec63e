package control

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// EntityLock is a locked entity, with its waiters.
type EntityLock struct {
	journal.HeldLock
	// Waiters are the first waiters; Waiting counts all.
	Waiters []LockWaiter
	Waiting int
}

// LockWaiter is a caller queued for the lock of an entity.
type LockWaiter struct {
	lock.Waiter
	// Execution is the name of the waiting execution; empty if it is a client, or gone.
	Execution string
}

// Locks pages through the entities that are locked. After is where the next page begins, if there may be more.
func (x *Entities) Locks(
	ctx context.Context, f journal.LockFilter,
) (locks []EntityLock, after journal.ID, more bool, err error) {
	f.Namespace = cmp.Or(f.Namespace, journal.DefaultNamespace)
	held, after, more, err := x.deps.Entities.Rows.Locks(ctx, f)
	if err != nil {
		return nil, after, false, err
	}
	for _, l := range held {
		waiters, err := x.deps.Entities.Waiters(ctx, l.Entity)
		if err != nil {
			return nil, after, false, err
		}
		locked := EntityLock{HeldLock: l, Waiting: waiters.Total}
		for _, w := range waiters.First {
			locked.Waiters = append(locked.Waiters, LockWaiter{w, x.nameOf(ctx, w.From)})
		}
		locks = append(locks, locked)
	}
	return locks, after, more, nil
}

// nameOf is the name of the execution of a step; empty if it is not to be had.
func (x *Entities) nameOf(ctx context.Context, step journal.Caller) string {
	if step.IsZero() {
		return ""
	}
	row, err := x.deps.Store.Brief(ctx, step.ID)
	if err != nil || row.Run != step.Run {
		return ""
	}
	return row.Name()
}

// Unlock takes the lock of an entity away from the execution that has it, which is returned; empty if none has. Its
// critical section is broken by that: its next call of the entity fails.
func (x *Entities) Unlock(ctx context.Context, namespace, name string) (holder string, err error) {
	ref, err := target.RefOf(cmp.Or(namespace, journal.DefaultNamespace), name)
	if err != nil {
		return "", err
	}
	lock, err := x.deps.Entities.Caller.Unlock(ctx, ref)
	if err != nil || lock == nil {
		return "", err
	}
	if holder = x.nameOf(ctx, lock.Holder); holder == "" {
		holder = lock.Holder.ID.String()
	}
	return holder, nil
}
