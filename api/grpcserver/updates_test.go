package grpcserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

func TestUpdatesAreAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.workflowOf = func(context.Context, string, string) (*abi.WorkflowInfo, error) {
		return &abi.WorkflowInfo{
			Name:    "Buy",
			Updates: []abi.UpdateInfo{{Name: "add", Input: &abi.Schema{Type: abi.TypeFloat}}, {Name: "stop"}},
		}, nil
	}
	b.engine.update = func(
		_ context.Context, namespace, execution string, req host.UpdateRequest,
	) (abi.Outcome, error) {
		require.Equal(t, "default", namespace)
		require.Equal(t, "shop/Buy/k", execution)
		require.Equal(t, "r", req.RequestID)
		if req.Name == "add" {
			require.Equal(t, abi.MustMarshal(2.0), req.Input, "JSON by the type of the update")
			return abi.Outcome{Value: abi.MustMarshal(map[string]any{"total": 3})}, nil
		}
		require.Nil(t, req.Input, "the engine knows what an absent input means")
		return abi.Outcome{Error: &abi.Error{Code: abi.CodeUpdateRefused, Message: "not now", Type: "busy"}}, nil
	}
	send := func(name string, input *crusterv1.Payload) (*crusterv1.UpdateExecutionResponse, error) {
		return b.workflows.UpdateExecution(t.Context(), &crusterv1.UpdateExecutionRequest{
			Execution: "shop/Buy/k",
			Name:      name,
			Input:     input,
			RequestId: "r",
			Encoding:  crusterv1.Encoding_ENCODING_JSON,
		})
	}
	resp, err := send("add", jsonPayload("2"))
	require.NoError(t, err)
	require.JSONEq(t, `{"total":3}`, resp.GetValue().GetJson())

	resp, err = send("stop", nil)
	require.NoError(t, err, "an answer that is an error is an answer")
	require.Equal(t, string(abi.CodeUpdateRefused), resp.GetError().GetCode())
	require.Nil(t, resp.GetValue())
	for code, bad := range map[abi.Code]struct {
		update string
		input  *crusterv1.Payload
	}{
		abi.CodeBadRequest:    {"", nil},
		abi.CodeUnknownUpdate: {"other", jsonPayload("1")},
		abi.CodeBadInput:      {"add", jsonPayload(`"x"`)},
	} {
		_, err := send(bad.update, bad.input)
		require.Equal(t, code, abi.CodeOf(rpcerror.From(err)), "%v", err)
	}
}
