package request

import (
	"context"
	"errors"
	"time"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Unlock takes the lock of an entity away from its holder, which is returned; nil if there is
// none. The holder is not told: its next call is refused.
func (x *Caller) Unlock(ctx context.Context, ref target.Ref) (*journal.Lock, error) {
	if err := x.Host.Accepting(); err != nil {
		return nil, err
	}
	id := ref.ID()
	row, err := x.Rows.Store.Lock(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, journal.Coded("unlock "+ref.String(), err)
	}
	held, err := x.Rows.Store.InSection(ctx, row.Holder)
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
	if _, err := x.Ask(ctx, c); err != nil || !held {
		return nil, err
	}
	x.Logger.Warn("an operator took away the lock of an entity: the critical section of its holder is broken",
		"entity", ref.String(), "namespace", ref.Namespace, "holder", row.Holder.ID, "run", row.Holder.Run, "since",
		time.Unix(0, row.Since),
	)
	return row, nil
}
