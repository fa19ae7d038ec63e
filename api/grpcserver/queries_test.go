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

func TestQueriesAreAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.workflowOf = func(context.Context, string, string) (*abi.WorkflowInfo, error) {
		return &abi.WorkflowInfo{
			Name: "Buy",
			Queries: []abi.QueryInfo{
				{Name: "price", Input: &abi.Schema{Type: abi.TypeFloat}}, {Name: "colour"}, {Name: "status"},
			},
		}, nil
	}
	b.engine.query = func(_ context.Context, namespace, execution string, req host.QueryRequest) ([]byte, error) {
		require.Equal(t, "default", namespace)
		require.Equal(t, "shop/Buy/k", execution)
		switch req.Name {
		case "price":
			require.Equal(t, abi.MustMarshal(2.0), req.Input, "JSON by the type of the query")
			return abi.MustMarshal(map[string]any{"cents": 300}), nil
		case "colour":
			return nil, abi.Errorf(abi.CodeBadInput, "the input does not fit query colour: loud is no colour")
		default:
			require.Nil(t, req.Input, "the engine knows what an absent input means")
			return nil, abi.Errorf(abi.CodeQueryNotReady, "not yet")
		}
	}
	ask := func(name string, input *crusterv1.Payload) (string, error) {
		resp, err := b.workflows.QueryExecution(t.Context(), &crusterv1.QueryExecutionRequest{
			Execution: "shop/Buy/k", Name: name, Input: input, Encoding: crusterv1.Encoding_ENCODING_JSON,
		})
		return resp.GetValue().GetJson(), err
	}
	answer, err := ask("price", jsonPayload("2"))
	require.NoError(t, err)
	require.JSONEq(t, `{"cents":300}`, answer)
	for name, bad := range map[abi.Code]struct {
		query string
		input *crusterv1.Payload
	}{
		abi.CodeBadRequest:    {"", nil},
		abi.CodeUnknownQuery:  {"other", jsonPayload("1")},
		abi.CodeBadInput:      {"price", jsonPayload(`"x"`)},
		abi.CodeQueryNotReady: {"status", nil},
	} {
		_, err := ask(bad.query, bad.input)
		require.Equal(t, name, abi.CodeOf(rpcerror.From(err)), "%v", err)
	}
	_, err = ask("price", jsonPayload(`"x"`))
	require.ErrorContains(t, err, "the input of query price: expected float, got string")
	_, err = ask("colour", jsonPayload(`"loud"`))
	require.EqualError(
		t, rpcerror.From(err), "CR-2002: the input does not fit query colour: loud is no colour",
		"the module says what it is about",
	)
}
