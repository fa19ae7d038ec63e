package entity

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// State reads the row of an entity: the state that the operations which were acknowledged before have left.
func (x *Entities) State(ctx context.Context, ref target.Ref) (*journal.Entity, error) {
	row, err := x.Store.Entity(ctx, ref.ID())
	if errors.Is(err, journal.ErrNotFound) {
		return nil, x.absent(ctx, ref)
	}
	if err != nil {
		return nil, journal.Coded("read "+ref.String(), err)
	}
	return row, nil
}

// absent says why an entity has no row.
func (x *Entities) absent(ctx context.Context, ref target.Ref) error {
	t, err := x.targets.Find(ctx, ref)
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
func (x *Entities) List(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	found, err := x.Store.ListEntities(ctx, f)
	if err != nil {
		return nil, journal.Coded("list entities", err)
	}
	return found, nil
}

// Destroy deletes the state of an entity, behind the calls that came before. It returns once that is durable. A later
// call makes another entity of the same name.
func (x *Entities) Destroy(ctx context.Context, ref target.Ref, origin journal.Origin) error {
	if err := x.Host.Accepting(); err != nil {
		return err
	}
	c := &call.Call{
		Ref:         ref,
		Kind:        call.Destroy,
		Operation:   "destroy",
		Origin:      origin,
		Mailbox:     call.DefaultMailbox,
		Concurrency: call.DefaultConcurrency,
	}
	if t, err := x.targets.Find(ctx, ref); err == nil {
		if !t.Type.Stateful() {
			return x.absent(ctx, ref)
		}
		c = call.To(t, &abi.OperationInfo{Name: "destroy"})
		c.Kind, c.Origin = call.Destroy, origin
	}
	outcome, err := x.ask(ctx, c)
	if err == nil && outcome.Error != nil {
		return outcome.Error
	}
	return err
}
