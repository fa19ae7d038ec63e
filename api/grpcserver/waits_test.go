package grpcserver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/journal"
)

// A request says how long to wait, within bounds.
func TestWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	running := &journal.Execution{Namespace: "default", Workflow: "a/B", Key: "c", State: journal.Running}
	polled := errors.New("polled")
	b.engine.wait = func(context.Context, string, string) (*journal.Execution, error) { return running, nil }
	b.engine.poll = func(context.Context, string, string) (*journal.Execution, error) { return nil, polled }
	wait := func(d *durationpb.Duration) error {
		resp, err := b.workflows.WaitExecution(
			t.Context(), &crusterv1.WaitExecutionRequest{Execution: "a/B/c", Wait: d},
		)
		require.True(t, err != nil || resp.GetExecution().GetState() == crusterv1.State_STATE_RUNNING)
		return err
	}
	for asked, waited := range map[*durationpb.Duration]time.Duration{
		nil: time.Minute, durationpb.New(2 * time.Second): 2 * time.Second, durationpb.New(2 * time.Hour): time.Hour,
	} {
		require.NoError(t, wait(asked))
		require.Equal(t, waited, time.Duration(b.engine.waited.Load()), asked)
	}
	require.ErrorContains(t, wait(durationpb.New(0)), "polled")
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(rpcerror.From(wait(durationpb.New(-time.Second)))))
}
