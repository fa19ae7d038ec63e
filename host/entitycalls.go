package host

import (
	"context"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/journal"
)

// entityCalls performs the requests of workflows on entities.
type entityCalls struct{ entities *entity.Entities }

var _ execution.Entities = entityCalls{}

// Call implements [execution.Entities].
func (c entityCalls) Call(
	ctx context.Context, caller *journal.Execution, step journal.Caller, m *abi.EntityMessage, left <-chan struct{},
) (abi.Outcome, error) {
	req, err := requestOf(caller, step, m)
	if err != nil {
		return abi.Outcome{}, err
	}
	req.Patience = call.Patience{ReplyTo: caller.Chain, Left: left}
	outcome, err := c.entities.Caller.Call(ctx, req)
	return outcome, hasLeft(err)
}

// hasLeft is an error in the words of executions.
func hasLeft(err error) error {
	if errors.Is(err, call.ErrLeft) {
		return execution.ErrLeft
	}
	return err
}

// Lock implements [execution.Entities].
func (c entityCalls) Lock(
	ctx context.Context, caller *journal.Execution, step journal.Caller, lock *abi.Lock, left <-chan struct{},
) error {
	deployment, _, _ := strings.Cut(caller.Workflow, "/")
	refs := make([]target.Ref, len(lock.Entities))
	for i, name := range lock.Entities {
		ref, err := target.RefFrom(caller.Namespace, deployment, name)
		if err != nil {
			return err
		}
		refs[i] = ref
	}
	return hasLeft(c.entities.Caller.Lock(ctx, step, call.Patience{ReplyTo: caller.Chain, Left: left}, refs...))
}

// Unlocked implements [execution.Entities].
func (c entityCalls) Unlocked(step journal.Caller) { c.entities.Unlocked(step) }

// Send implements [execution.Entities].
func (c entityCalls) Send(
	ctx context.Context, caller *journal.Execution, step journal.Caller, m *abi.EntityMessage,
) error {
	req, err := requestOf(caller, step, m)
	if err != nil {
		return err
	}
	return c.entities.Sender.Send(ctx, req)
}

// requestOf returns the request of a step of a workflow: the same each time it is performed.
func requestOf(caller *journal.Execution, step journal.Caller, m *abi.EntityMessage) (call.Request, error) {
	deployment, _, _ := strings.Cut(caller.Workflow, "/")
	ref, err := target.RefFrom(caller.Namespace, deployment, m.Entity)
	return call.Request{
		Entity: ref, Operation: m.Operation, Input: m.Input,
		Origin: journal.OriginOf(step.Run, step.Step), From: step, Section: caller.Section,
	}, err
}
