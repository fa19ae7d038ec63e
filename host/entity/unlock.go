package entity

import (
	"context"
	"errors"
	"time"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Unlocked reports that the section of a step has ended: the entities that it has locked go on.
func (x *Entities) Unlocked(step journal.Caller) {
	for _, id := range x.holders.Of(step) {
		x.actors.Post(id, unlocked{step})
	}
}

// Unlock takes the lock of an entity away from its holder, which is returned; nil if there is
// none. The holder is not told: its next call is refused.
func (x *Entities) Unlock(ctx context.Context, ref target.Ref) (*journal.Lock, error) {
	if err := x.Host.Accepting(); err != nil {
		return nil, err
	}
	id := ref.ID()
	row, err := x.Store.Lock(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, journal.Coded("unlock "+ref.String(), err)
	}
	held, err := x.Store.InSection(ctx, row.Holder)
	if err != nil {
		return nil, journal.Coded("unlock "+ref.String(), err)
	}
	c := &call.Call{
		Ref:         ref,
		Kind:        call.Unlock,
		Operation:   "unlock",
		From:        row.Holder,
		Mailbox:     call.DefaultMailbox,
		Concurrency: call.DefaultConcurrency,
	}
	if _, err := x.ask(ctx, c); err != nil || !held {
		return nil, err
	}
	x.Logger.Warn("an operator took away the lock of an entity: the critical section of its holder is broken",
		"entity", ref.String(), "namespace", ref.Namespace, "holder", row.Holder.ID, "run", row.Holder.Run, "since",
		time.Unix(0, row.Since),
	)
	return row, nil
}

// Waiter is a caller queued for the lock of an entity.
type Waiter struct {
	// From is the step of a workflow; zero if it is a client.
	From journal.Caller
	// Operation is "lock", or the called operation.
	Operation string
	Since     int64
}

// maxWaiters bounds how many waiters of an entity are listed.
const maxWaiters = 50

// Waiters lists who waits for an entity, the first first, and counts them.
func (x *Entities) Waiters(ctx context.Context, id journal.ID) (waiters []Waiter, total int, err error) {
	if !x.actors.Has(id) {
		return nil, 0, nil
	}
	reply := make(chan waitersReply, 1)
	x.actors.Post(id, waitersRequest{reply})
	select {
	case r := <-reply:
		return r.waiters, r.total, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-x.Host.Context().Done():
		return nil, 0, x.Host.EndReason()
	}
}

// Locks lists locks that are held.
func (x *Entities) Locks(
	ctx context.Context, f journal.LockFilter,
) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	if locks, after, more, err = x.Store.Locks(ctx, f); err != nil {
		err = journal.Coded("list locks", err)
	}
	return locks, after, more, err
}
