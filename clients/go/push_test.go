package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
)

func TestPushSendsPieces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	binary := make([]byte, 3<<20)
	b.host.push = func(meta *crusterv1.PushMetadata, got []byte) (*crusterv1.PushResult, error) {
		require.Equal(t, binary, got)
		require.Equal(t, map[string]string{"K": "V"}, meta.GetConfig())
		require.True(t, meta.GetCheck())
		require.True(t, meta.GetMoveOpen())
		return &crusterv1.PushResult{
			Deployment: &crusterv1.Deployment{Name: meta.GetName(), Version: 3}, Moved: 2,
		}, nil
	}

	resp, err := b.client.Push(t.Context(), client.PushRequest{
		Name: "shop", Binary: binary, Config: map[string]string{"K": "V"}, Check: true, MoveOpen: true,
	})
	require.NoError(t, err)
	require.EqualValues(t, 3, resp.GetDeployment().GetVersion())
	require.EqualValues(t, 2, resp.GetMoved())

	b.host.push = func(*crusterv1.PushMetadata, []byte) (*crusterv1.PushResult, error) {
		return nil, rpcerror.Status(abi.Errorf(abi.CodeNotWasm, "no magic"), 0).Err()
	}
	_, err = b.client.Push(t.Context(), client.PushRequest{Name: "shop", Binary: []byte("x")})
	require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err))
}

func TestCheckYieldsOneByOne(t *testing.T) {
	t.Parallel()
	b := setup(t, client.WithNamespace("acme"))
	binary := make([]byte, 1<<20)
	b.host.check = func(
		meta *crusterv1.CheckModuleMetadata, got []byte, send func(*crusterv1.CheckModuleResponse) error,
	) error {
		require.Equal(t, binary, got)
		require.Equal(t, "acme", meta.GetNamespace())
		require.Equal(t, "shop", meta.GetName())
		for i := range uint32(3) {
			if err := send(&crusterv1.CheckModuleResponse{Done: i + 1, Total: 3, Fits: i != 1}); err != nil {
				return err
			}
		}
		return rpcerror.Status(abi.Errorf(abi.CodeStore, "it is away"), 0).Err()
	}

	var fits []bool
	var last error
	for r, err := range b.client.Check(t.Context(), client.CheckRequest{Name: "shop", Binary: binary}) {
		if last = err; err == nil {
			fits = append(fits, r.GetFits())
		}
	}
	require.Equal(t, []bool{true, false, true}, fits)
	require.Equal(t, abi.CodeStore, abi.CodeOf(last))

	for range b.client.Check(t.Context(), client.CheckRequest{Name: "shop", Binary: binary}) {
		break // the stream ends with the loop: goleak sees to it
	}
}
