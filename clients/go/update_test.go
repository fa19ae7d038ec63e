package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

func packed(v any) *crusterv1.Payload {
	return &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: abi.MustMarshal(v)}}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.workflows.update = func(req *crusterv1.UpdateExecutionRequest) (*crusterv1.UpdateExecutionResponse, error) {
		require.Equal(t, "shop/Buy/k", req.GetExecution())
		require.Equal(t, "add", req.GetName())
		require.Equal(t, "r", req.GetRequestId())
		if string(req.GetInput().GetMsgpack()) == string(abi.MustMarshal(-1)) {
			return &crusterv1.UpdateExecutionResponse{
				Error: &crusterv1.Error{Code: string(abi.CodeUpdateRefused), Message: "it is negative"},
			}, nil
		}
		return &crusterv1.UpdateExecutionResponse{Value: packed("300")}, nil
	}
	answer, err := client.Update[int, string]("add").WithRequestID("r").Call(t.Context(), b.client, "shop/Buy/k", 2)
	require.NoError(t, err)
	require.Equal(t, "300", answer)
	_, err = client.Update[int, string]("add").WithRequestID("r").Call(t.Context(), b.client, "shop/Buy/k", -1)
	require.Equal(t, abi.CodeUpdateRefused, abi.CodeOf(err))
	_, err = client.Update[int, int]("add").WithRequestID("r").Call(t.Context(), b.client, "shop/Buy/k", 2)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
	_, err = client.Update[func(), int]("add").Call(t.Context(), b.client, "shop/Buy/k", nil)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
}

// TestUpdatesAreRepeated: a host that is gone is asked again, for the answer to the same update.
func TestUpdatesAreRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []string
	b.workflows.update = func(req *crusterv1.UpdateExecutionRequest) (*crusterv1.UpdateExecutionResponse, error) {
		if ids = append(ids, req.GetRequestId()); len(ids) < 3 {
			return nil, status.Error(codes.Unavailable, "gone")
		}
		return &crusterv1.UpdateExecutionResponse{Value: packed(1)}, nil
	}
	answer, err := client.Update[int, int]("add").Call(t.Context(), b.client, "shop/Buy/k", 2)
	require.NoError(t, err)
	require.Equal(t, 1, answer)
	require.Len(t, ids, 3)
	require.NotEmpty(t, ids[0])
	require.Equal(t, []string{ids[0], ids[0], ids[0]}, ids)
}

func TestPublished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.workflows.state = func(req *crusterv1.GetExecutionStateRequest) (*crusterv1.GetExecutionStateResponse, error) {
		require.Equal(t, "shop/Buy/k", req.GetExecution())
		if req.GetName() != "stage" {
			return &crusterv1.GetExecutionStateResponse{}, nil
		}
		return &crusterv1.GetExecutionStateResponse{
			State: []*crusterv1.PublishedState{{Name: "stage", Value: packed("packed")}},
		}, nil
	}
	stage, there, err := client.Published[string]("stage").Of(t.Context(), b.client, "shop/Buy/k")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "packed", stage)
	_, there, err = client.Published[string]("other").Of(t.Context(), b.client, "shop/Buy/k")
	require.NoError(t, err)
	require.False(t, there)
	_, _, err = client.Published[int]("stage").Of(t.Context(), b.client, "shop/Buy/k")
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
}
