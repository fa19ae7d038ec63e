package request

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Lock locks entities for the critical section of a step, one after the other.
//
// All runs lock in the order of the ids, whatever order their code names the entities in. So the
// entity that a run waits for is behind all that it holds, and behind all that its holder waits
// for: there is no circle, and no two runs ever wait for each other. Nothing is locked before all
// that was asked for is known to be lockable.
//
// If the workflow leaves memory before it has all of them, it asks again, for all, when it is told that it has the next
// one.
func (x *Caller) Lock(ctx context.Context, step journal.Caller, patience call.Patience, refs ...target.Ref) error {
	for _, ref := range refs {
		t, err := x.Checks.Targets.Find(ctx, ref)
		if err == nil {
			err = lockable(t)
		}
		if err != nil {
			return err
		}
	}
	refs, err := inLockOrder(refs)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := x.lockOne(ctx, ref, step, patience); err != nil {
			return err
		}
	}
	return nil
}

// inLockOrder sorts entities by their ids, and refuses duplicates.
func inLockOrder(refs []target.Ref) ([]target.Ref, error) {
	refs = slices.Clone(refs)
	slices.SortFunc(refs, func(a, b target.Ref) int {
		x, y := a.ID(), b.ID()
		return bytes.Compare(x[:], y[:])
	})
	for i, ref := range refs {
		if i > 0 && ref == refs[i-1] {
			return nil, abi.Errorf(abi.CodeCannotLock, "%s is to be locked twice", ref)
		}
	}
	return refs, nil
}

// lockOne holds an entity for a step of a workflow, until the section of the step has ended: the
// entity performs the requests of the workflow's run and nothing else. It returns once that is so.
// The same step may ask again.
func (x *Caller) lockOne(ctx context.Context, ref target.Ref, step journal.Caller, patience call.Patience) error {
	if err := x.Host.Accepting(); err != nil {
		return err
	}
	t, err := x.Checks.Targets.Find(ctx, ref)
	if err != nil {
		return err
	}
	if err := lockable(t); err != nil {
		return err
	}
	c := call.To(t, &abi.OperationInfo{Name: "lock"})
	c.Kind, c.From, c.Patience = call.Lock, step, patience
	if _, err = x.Ask(ctx, c); errors.Is(err, call.ErrLeft) {
		_, err = x.leaveBehind(ctx, c.Again())
	}
	return err
}

func lockable(t target.Target) error {
	if !t.Type.Stateful() {
		return abi.Errorf(abi.CodeCannotLock, "%s has no state: it cannot be locked", t.Ref)
	}
	return nil
}
