package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Store is what requests read.
type Store interface {
	journal.EntityReader
	journal.InboxReader
	journal.LockReader
}

// Rows finds states and locks, and the messages and receipts of earlier requests.
type Rows struct {
	Store   Store
	Targets target.Finder
}

// State reads the row of an entity: the state that the operations which were acknowledged before have left.
func (r Rows) State(ctx context.Context, ref target.Ref) (*journal.Entity, error) {
	row, err := r.Store.Entity(ctx, ref.ID())
	if errors.Is(err, journal.ErrNotFound) {
		return nil, r.absent(ctx, ref)
	}
	if err != nil {
		return nil, journal.Coded("read "+ref.String(), err)
	}
	return row, nil
}

// absent says why an entity has no row.
func (r Rows) absent(ctx context.Context, ref target.Ref) error {
	t, err := r.Targets.Find(ctx, ref)
	if err != nil {
		return err
	}
	none := abi.Errorf(abi.CodeEntityNotFound, "there is no entity %s", ref)
	if !t.Type.Stateful() {
		return none.WithHint(
			"Entities of this type have no state: they can be called, and there is nothing to read or to destroy.",
		)
	}
	return none
}

// List pages through entities that have a state.
func (r Rows) List(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	found, err := r.Store.ListEntities(ctx, f)
	if err != nil {
		return nil, journal.Coded("list entities", err)
	}
	return found, nil
}

// Locks lists locks that are held.
func (r Rows) Locks(
	ctx context.Context, f journal.LockFilter,
) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	if locks, after, more, err = r.Store.Locks(ctx, f); err != nil {
		err = journal.Coded("list locks", err)
	}
	return locks, after, more, err
}

// message finds the message of a call that was sent before, parked or not; nil if it was taken.
func (r Rows) message(ctx context.Context, c *call.Call) (*journal.FoundMessage, error) {
	m, err := r.Store.FindMessage(ctx, journal.Receiver{ID: c.Ref.ID()}, c.Origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	}
	return m, nil
}

// receipt finds the receipt of a call that was performed, or dropped, before; nil if there is none. Doing is the
// purpose of the read, for errors.
func (r Rows) receipt(ctx context.Context, c *call.Call, doing string) (*journal.Receipt, error) {
	receipt, err := r.Store.Receipt(ctx, c.Ref.ID(), c.Origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, journal.Coded(doing, err)
	}
	return receipt, nil
}
