package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

// fakeEntities answers as a test says.
type fakeEntities struct {
	crusterv1.UnimplementedEntityServiceServer
	asked     []*crusterv1.Operation
	failure   *crusterv1.Error
	away      int    // calls that find no host, though they arrive
	lose      func() // if set, ends the host while it has a call
	destroyed *crusterv1.DestroyEntityRequest
	// call and calls, if set, replace the above in a test.
	call  func(ctx context.Context, req *crusterv1.CallEntityRequest) (*crusterv1.CallEntityResponse, error)
	calls func(stream callsStream) error
}

type callsStream = grpc.BidiStreamingServer[crusterv1.StreamCallsRequest, crusterv1.StreamCallsResponse]

func (f *fakeEntities) StreamCalls(stream callsStream) error {
	if f.calls == nil {
		return f.UnimplementedEntityServiceServer.StreamCalls(stream)
	}
	return f.calls(stream)
}

func (f *fakeEntities) CallEntity(
	ctx context.Context, req *crusterv1.CallEntityRequest,
) (*crusterv1.CallEntityResponse, error) {
	if f.call != nil {
		return f.call(ctx, req)
	}
	f.asked = append(f.asked, req.GetOperation())
	if f.lose != nil {
		go f.lose()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.away--; f.away >= 0 {
		return nil, status.Error(codes.Unavailable, "away")
	}
	if f.failure != nil {
		return &crusterv1.CallEntityResponse{Error: f.failure}, nil
	}
	return &crusterv1.CallEntityResponse{Result: req.GetOperation().GetInput()}, nil
}

func (f *fakeEntities) SendToEntity(
	_ context.Context, req *crusterv1.SendToEntityRequest,
) (*crusterv1.SendToEntityResponse, error) {
	f.asked = append(f.asked, req.GetOperation())
	return &crusterv1.SendToEntityResponse{}, nil
}

func (f *fakeEntities) GetEntity(context.Context, *crusterv1.GetEntityRequest) (*crusterv1.GetEntityResponse, error) {
	return &crusterv1.GetEntityResponse{
		State: &crusterv1.Payload{
			Data: &crusterv1.Payload_Msgpack{Msgpack: abi.MustMarshal(map[string]int{"cents": 7})},
		},
	}, nil
}

func (f *fakeEntities) DestroyEntity(
	_ context.Context, req *crusterv1.DestroyEntityRequest,
) (*crusterv1.DestroyEntityResponse, error) {
	f.destroyed = req
	return &crusterv1.DestroyEntityResponse{}, nil
}

func TestEntities(t *testing.T) {
	t.Parallel()
	b := setup(t)
	deposit := client.Operation[int64, int64](b.client, "bank/Account", "deposit")
	b.entities.away = 2
	cents, err := deposit.On("ada").Call(t.Context(), 500)
	require.NoError(t, err)
	require.EqualValues(t, 500, cents)
	require.Len(t, b.entities.asked, 3, "it is repeated")
	first := b.entities.asked[0]
	require.Equal(t, "bank/Account/ada", first.GetEntity())
	require.NotEmpty(t, first.GetRequestId())
	require.Equal(t, first.GetRequestId(), b.entities.asked[2].GetRequestId())
	require.False(t, first.GetAgain())
	require.True(
		t, b.entities.asked[1].GetAgain() && b.entities.asked[2].GetAgain(),
		"the host decides whether it may be performed again",
	)
	require.NoError(t, deposit.On("ada").WithRequestID("r").Send(t.Context(), 1))
	require.Equal(t, "r", b.entities.asked[3].GetRequestId())
	_, err = deposit.On("ada").Call(t.Context(), 1)
	require.NoError(t, err)
	require.NotEqual(t, first.GetRequestId(), b.entities.asked[4].GetRequestId(), "another request")

	b.entities.failure = &crusterv1.Error{Code: "CR-6006", Message: "no", Type: "poor"}
	_, err = deposit.On("ada").Call(t.Context(), 1)
	require.Equal(t, abi.CodeOperationFailed, abi.CodeOf(err))
	require.Equal(t, "poor", abi.AsError(err).Type)
	_, err = client.Operation[func(), int](b.client, "bank/Account", "x").On("ada").Call(t.Context(), nil)
	require.Equal(t, abi.CodeOperationInput, abi.CodeOf(err))

	state, err := client.EntityState[struct {
		Cents int64 `json:"cents"`
	}](t.Context(), b.client, "bank/Account/ada")
	require.NoError(t, err)
	require.EqualValues(t, 7, state.Cents)
	require.NoError(t, b.client.DestroyEntity(t.Context(), "bank/Account/ada"))
	require.Equal(t, "bank/Account/ada", b.entities.destroyed.GetEntity())
	require.NotEmpty(t, b.entities.destroyed.GetRequestId())
}
