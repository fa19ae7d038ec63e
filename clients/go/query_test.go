package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.workflows.query = func(req *crusterv1.QueryExecutionRequest) (*crusterv1.QueryExecutionResponse, error) {
		require.Equal(t, "shop/Buy/k", req.GetExecution())
		require.Equal(t, "price", req.GetName())
		require.Equal(t, abi.MustMarshal(2), req.GetInput().GetMsgpack())
		return &crusterv1.QueryExecutionResponse{
			Value: &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: abi.MustMarshal("300")}},
		}, nil
	}
	answer, err := client.Query[int, string]("price").Ask(t.Context(), b.client, "shop/Buy/k", 2)
	require.NoError(t, err)
	require.Equal(t, "300", answer)
	_, err = client.Query[int, int]("price").Ask(t.Context(), b.client, "shop/Buy/k", 2)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
	_, err = client.Query[func(), int]("price").Ask(t.Context(), b.client, "shop/Buy/k", nil)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
}
