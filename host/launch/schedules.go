package launch

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/control"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/journal"
)

// ForSchedules starts executions for schedules, and follows them.
type ForSchedules struct {
	Control  *control.Executions
	Launcher *Launcher
}

var _ schedule.Starter = ForSchedules{}

// CheckStart implements [schedule.Starter].
func (s ForSchedules) CheckStart(ctx context.Context, namespace, workflow string, input []byte) ([]byte, error) {
	return s.Launcher.deps.Programs.CheckInput(ctx, program.Request{
		Namespace: namespace, Workflow: workflow, Input: input,
	})
}

// Start implements [schedule.Starter].
func (s ForSchedules) Start(
	ctx context.Context, namespace, workflow, key string, input []byte,
) (row *journal.Execution, existed bool, err error) {
	return s.Launcher.Start(ctx, StartRequest{
		Namespace: namespace, Workflow: workflow, Input: input, Key: key, KeyMode: abi.KeyRaw,
	})
}

// Poll implements [schedule.Starter].
func (s ForSchedules) Poll(ctx context.Context, namespace, name string) (*journal.Execution, error) {
	return s.Launcher.deps.Observer.Poll(ctx, namespace, name)
}

// Wait implements [schedule.Starter].
func (s ForSchedules) Wait(ctx context.Context, namespace, name string) (*journal.Execution, error) {
	return s.Launcher.deps.Observer.Wait(ctx, namespace, name)
}

// Interrupt implements [schedule.Starter].
func (s ForSchedules) Interrupt(ctx context.Context, namespace, name, reason string) error {
	return s.Control.Interrupt(ctx, namespace, name, reason)
}
