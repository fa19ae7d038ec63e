package launch

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/program"
)

// ForEntities starts workflows for entities.
type ForEntities struct {
	Executions *execution.Executions
	Programs   *program.Programs
}

var _ entity.Starts = ForEntities{}

// Check implements [entity.Starts].
func (s ForEntities) Check(ctx context.Context, namespace, deployment string, call *abi.Call) error {
	_, err := s.Programs.CheckInput(ctx, program.CallOf(namespace, deployment, call))
	return err
}

// Start implements [entity.Starts]. It is not refused when the host is full: the entity has been told that it will be
// started.
func (s ForEntities) Start(ctx context.Context, namespace, deployment string, call *abi.Call) error {
	row, err := s.Programs.Prepare(ctx, program.CallOf(namespace, deployment, call))
	if err == nil {
		_, _, err = s.Executions.Starter.Launch(ctx, row, abi.ReturnFinished, nil)
	}
	return err
}
