package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

func TestSignals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	paid := client.Signal[int]("paid")
	value := &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: abi.MustMarshal(300)}}
	b.workflows.signal = func(req *crusterv1.SignalExecutionRequest) (*crusterv1.SignalExecutionResponse, error) {
		require.Equal(t, "shop/Buy/k", req.GetExecution())
		require.Equal(t, "paid", req.GetSignal().GetName())
		require.Equal(t, value.GetMsgpack(), req.GetSignal().GetValue().GetMsgpack())
		require.Equal(t, "r", req.GetSignal().GetRequestId())
		return &crusterv1.SignalExecutionResponse{}, nil
	}
	require.NoError(t, paid.Send(t.Context(), b.client, "shop/Buy/k", 300, client.WithRequestID("r")))

	b.workflows.withStart = func(req *crusterv1.SignalWithStartRequest) (*crusterv1.SignalWithStartResponse, error) {
		require.Equal(t, "shop/Buy", req.GetStart().GetWorkflow())
		require.Equal(t, value.GetMsgpack(), req.GetSignal().GetValue().GetMsgpack())
		return &crusterv1.SignalWithStartResponse{
			Execution: &crusterv1.Execution{Name: "shop/Buy/k"}, Existed: true,
		}, nil
	}
	run, err := client.SendWithStart(
		t.Context(), client.Workflow[string, int](b.client, "shop/Buy"), "apple", paid, 300,
	)
	require.NoError(t, err)
	require.Equal(t, "shop/Buy/k", run.Execution())
	require.True(t, run.Existed())

	require.Equal(
		t, abi.CodeBadInput, abi.CodeOf(client.Signal[func()]("x").Send(t.Context(), b.client, "shop/Buy/k", nil)),
	)
}
