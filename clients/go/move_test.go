package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
)

func TestMoveAndItsMisfit(t *testing.T) {
	t.Parallel()
	b := setup(t, client.WithNamespace("acme"))
	b.workflows.move = func(req *crusterv1.MoveExecutionRequest) (*crusterv1.MoveExecutionResponse, error) {
		require.Equal(t, "acme", req.GetNamespace())
		require.Equal(t, "shop/Buy/k", req.GetExecution())
		if req.GetTo() != client.Latest {
			st := rpcerror.Status(abi.Errorf(abi.CodeDoesNotFit, "it does not fit"), 0)
			return nil, rpcerror.WithDiff(st, &crusterv1.Diff{
				Rows: []*crusterv1.DiffRow{{Journal: "a", Code: "b", Note: "c"}},
			}).Err()
		}
		moved := &crusterv1.Execution{Name: req.GetExecution(), Digest: "new"}
		return &crusterv1.MoveExecutionResponse{Execution: moved}, nil
	}

	exec, err := b.client.Move(t.Context(), "shop/Buy/k", client.Latest)
	require.NoError(t, err)
	require.Equal(t, "new", exec.GetDigest())
	err = client.Attach[receipt](b.client, "shop/Buy/k").Move(t.Context(), "0af")
	var misfit *client.Misfit
	require.ErrorAs(t, err, &misfit)
	require.Equal(t, "b", misfit.Diff.GetRows()[0].GetCode())
	require.Equal(t, abi.CodeDoesNotFit, abi.CodeOf(err))
}

func TestMoveAllYieldsOneByOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.workflows.moveAll = func(
		req *crusterv1.MoveExecutionsRequest, send func(*crusterv1.MoveExecutionsResponse) error,
	) error {
		require.Equal(t, "shop/", req.GetWorkflow())
		require.Equal(t, crusterv1.State_STATE_PAUSED, req.GetState())
		for i := range uint32(2) {
			if err := send(&crusterv1.MoveExecutionsResponse{Done: i + 1}); err != nil {
				return err
			}
		}
		return nil
	}

	var done []uint32
	for r, err := range b.client.MoveAll(t.Context(), client.MoveAllRequest{Workflow: "shop/", State: client.Paused}) {
		require.NoError(t, err)
		done = append(done, r.GetDone())
	}
	require.Equal(t, []uint32{1, 2}, done)

	b.workflows.moveAll = func(
		req *crusterv1.MoveExecutionsRequest, _ func(*crusterv1.MoveExecutionsResponse) error,
	) error {
		require.EqualValues(t, -1, req.GetState(), "the host refuses it")
		return rpcerror.Status(abi.Errorf(abi.CodeBadRequest, "there is no state -1"), 0).Err()
	}
	for _, err := range b.client.MoveAll(t.Context(), client.MoveAllRequest{Workflow: "shop/", State: "asleep"}) {
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err))
	}
}

func TestForkIsARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.workflows.fork = func(req *crusterv1.ForkExecutionRequest) (*crusterv1.ForkExecutionResponse, error) {
		require.EqualValues(t, 7, req.GetAt())
		require.Equal(t, "k2", req.GetKey())
		require.Equal(t, "0af", req.GetTo())
		return &crusterv1.ForkExecutionResponse{Execution: &crusterv1.Execution{Name: "shop/Buy/k2"}}, nil
	}

	fork, err := client.Attach[receipt](b.client, "shop/Buy/k").Fork(t.Context(), client.ForkRequest{
		At: 7, Key: "k2", To: "0af",
	})
	require.NoError(t, err)
	require.Equal(t, "shop/Buy/k2", fork.Execution())
	require.False(t, fork.Existed())
}
