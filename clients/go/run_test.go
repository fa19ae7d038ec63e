package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

func TestStartWaitPollInterrupt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	running := &crusterv1.Execution{Name: "shop/Buy/k", State: crusterv1.State_STATE_RUNNING}
	b.workflows.start = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		return &crusterv1.StartExecutionResponse{Execution: running, Existed: true}, nil
	}
	state := running
	b.workflows.poll = func(req *crusterv1.GetExecutionRequest) (*crusterv1.GetExecutionResponse, error) {
		require.Equal(t, "shop/Buy/k", req.GetExecution())
		return &crusterv1.GetExecutionResponse{Execution: state}, nil
	}
	b.workflows.wait = func(*crusterv1.WaitExecutionRequest) (*crusterv1.WaitExecutionResponse, error) {
		return &crusterv1.WaitExecutionResponse{Execution: state}, nil
	}
	b.workflows.interrupt = func(req *crusterv1.InterruptExecutionRequest) (
		*crusterv1.InterruptExecutionResponse, error,
	) {
		require.Equal(t, "enough", req.GetReason())
		state = failed(crusterv1.State_STATE_INTERRUPTED, abi.Errorf(abi.CodeInterrupted, "enough"))
		return &crusterv1.InterruptExecutionResponse{}, nil
	}

	run, err := client.Workflow[order, receipt](b.client, "shop/Buy").Start(t.Context(), order{})
	require.NoError(t, err)
	require.Equal(t, "shop/Buy/k", run.Execution())
	require.True(t, run.Existed())
	st, err := run.Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Running, st.State)
	require.False(t, st.State.Final())

	state = completed(receipt{9})
	r, err := run.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, receipt{9}, r)
	st, err = client.Attach[receipt](b.client, run.Execution()).Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, receipt{9}, st.Result)

	require.NoError(t, run.Interrupt(t.Context(), "enough"))
	st, err = run.Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Interrupted, st.Err.State)
}

func TestDeadlineKeepsItsCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		release := make(chan struct{})
		b.workflows.wait = func(*crusterv1.WaitExecutionRequest) (*crusterv1.WaitExecutionResponse, error) {
			<-release
			return nil, status.Error(codes.Canceled, "")
		}
		t.Cleanup(func() { close(release) })

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Attach[receipt](b.client, "shop/Buy/k").Wait(ctx)
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(err))
	})
}
