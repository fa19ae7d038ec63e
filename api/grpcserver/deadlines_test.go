package grpcserver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// hastyEngine waits for nothing, and notes until when it would have.
type hastyEngine struct {
	Launcher
	Observer
	until time.Time
}

func (e *hastyEngine) WaitRun(ctx context.Context, _, _, _ string, _ time.Duration) (*journal.Execution, error) {
	e.until, _ = ctx.Deadline()
	return nil, abi.Errorf(abi.CodeDeadline, "late")
}

func (e *hastyEngine) Execute(
	ctx context.Context, _ host.StartRequest, _ time.Duration,
) (*journal.Execution, bool, error) {
	e.until, _ = ctx.Deadline()
	return nil, false, abi.Errorf(abi.CodeDeadline, "late")
}

// The host has an answer before the caller stops waiting for it.
func TestWaitsEndAheadOfTheDeadline(t *testing.T) {
	t.Parallel()
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	e := &hastyEngine{}
	w := &workflowService{engine: &Engine{Launcher: e, Observer: e}, lifetime: newLifetime()}
	for name, call := range map[string]func(context.Context) error{
		"wait": func(ctx context.Context) error {
			_, err := w.WaitExecution(ctx, &crusterv1.WaitExecutionRequest{Execution: "a/B/c"})
			return err
		},
		"execute": func(ctx context.Context) error {
			_, err := w.StartExecution(ctx, &crusterv1.StartExecutionRequest{
				Start: &crusterv1.StartOptions{Workflow: "a/B"}, Wait: durationpb.New(time.Minute),
			})
			return err
		},
	} {
		e.until = time.Time{}
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(call(ctx)), name)
		require.False(t, e.until.IsZero(), name)
		require.True(t, e.until.Before(deadline), "%s: %v", name, e.until)
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(call(t.Context())), name)
		require.True(t, e.until.IsZero(), "%s: without a deadline there is none", name)
	}
}
