package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

func TestExecuteIsTyped(t *testing.T) {
	t.Parallel()
	b := setup(t, client.WithNamespace("acme"))
	var got *crusterv1.StartExecutionRequest
	b.host.execute = func(req *crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		got = req
		return &crusterv1.StartExecutionResponse{Execution: completed(receipt{7})}, nil
	}

	buy := client.Workflow[order, receipt](b.client, "shop/Buy")
	r, err := buy.Execute(t.Context(), order{ID: "42", Price: 5})
	require.NoError(t, err)
	require.Equal(t, receipt{7}, r)
	require.Equal(t, "acme", got.GetStart().GetNamespace())
	require.Equal(t, abi.MustMarshal(map[string]any{"id": "42", "price": 5.0}), got.GetStart().GetInput().GetMsgpack())
	require.Nil(t, got.GetStart().GetIdempotency())

	_, err = buy.WithKey("me@example.com").Execute(t.Context(), order{})
	require.NoError(t, err)
	require.Equal(t, "me@example.com", got.GetStart().GetKey())
	_, err = buy.WithKeyRaw("k-1").Execute(t.Context(), order{})
	require.NoError(t, err)
	require.Equal(t, "k-1", got.GetStart().GetRawKey())
}

func TestWorkflowFailuresAreRunErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host.execute = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		e := abi.Errorf(abi.CodeWorkflowFailed, "no money")
		e.Type = "broke"
		return &crusterv1.StartExecutionResponse{Execution: failed(crusterv1.State_STATE_FAILED, e)}, nil
	}

	_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(t.Context(), order{})
	var run *client.RunError
	require.ErrorAs(t, err, &run)
	require.Equal(t, client.Failed, run.State)
	require.Equal(t, "shop/Buy/k", run.Execution)
	require.Equal(t, "broke", run.Cause.Type)
	require.Equal(t, abi.CodeWorkflowFailed, abi.CodeOf(err), "the *abi.Error is in the chain")
	require.EqualError(t, err, "shop/Buy/k failed: CR-2006: no money")
}

func TestResultOfAnotherTypeIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host.execute = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		return &crusterv1.StartExecutionResponse{Execution: completed("text")}, nil
	}

	_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(t.Context(), order{})
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
}
