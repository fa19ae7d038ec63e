package grpcserver_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/budget"
)

func metadataPart(name string) *crusterv1.UploadModuleRequest {
	return &crusterv1.UploadModuleRequest{
		Part: &crusterv1.UploadModuleRequest_Metadata{
			Metadata: &crusterv1.PushMetadata{Name: name, AllowHttp: []string{"a"}},
		},
	}
}

func chunkPart(b []byte) *crusterv1.UploadModuleRequest {
	return &crusterv1.UploadModuleRequest{Part: &crusterv1.UploadModuleRequest_Chunk{Chunk: b}}
}

// upload sends parts until the server has answered.
func (b *testBundle) upload(t *testing.T, parts ...*crusterv1.UploadModuleRequest) (*crusterv1.PushResult, error) {
	t.Helper()
	stream, err := b.modules.UploadModule(t.Context())
	require.NoError(t, err)
	for _, p := range parts {
		if err := stream.Send(p); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	resp, err := stream.CloseAndRecv()
	return resp.GetResult(), err
}

func TestPushInOneMessageAndInPieces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var got []host.PushRequest
	b.engine.push = func(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error) {
		got = append(got, req)
		return shop(ctx, req.Namespace, req.Name)
	}
	binary := bytes.Repeat([]byte("wasm"), maxModule/4)

	resp, err := b.modules.PushModule(t.Context(), &crusterv1.PushModuleRequest{
		Metadata: &crusterv1.PushMetadata{Name: "shop", AllowHttp: []string{"a"}}, Binary: binary,
	})
	require.NoError(t, err)
	_, err = b.upload(t, metadataPart("shop"), chunkPart(binary[:100]), chunkPart(binary[100:]))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, got[0].Binary, got[1].Binary)
	require.Equal(t, "default", got[1].Namespace)
	require.Equal(t, []string{"a"}, got[1].AllowHTTP)

	d := resp.GetResult().GetDeployment()
	require.Equal(t, "shop", d.GetName())
	require.Equal(t, []string{"TOKEN"}, d.GetConfigKeys(), "values may be secrets")
	require.Equal(t, "price", d.GetWorkflows()[0].GetInput().GetFields()[0].GetName())
	require.Equal(t, "any", d.GetWorkflows()[0].GetOutput().GetType())
	require.EqualValues(t, 1, d.GetActivities()[0].GetTimeout().GetSeconds())
}

func TestPushRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t) // the engine panics if anything reaches it

	_, err := b.modules.PushModule(t.Context(), &crusterv1.PushModuleRequest{
		Metadata: &crusterv1.PushMetadata{Name: "x"}, Binary: make([]byte, maxModule+1),
	})
	_, _, wire, _ := detailsOf(t, err)
	require.Equal(t, string(abi.CodeModuleTooLarge), wire.GetCode())

	half := chunkPart(make([]byte, maxModule/2+1))
	for name, tc := range map[string]struct {
		parts []*crusterv1.UploadModuleRequest
		code  abi.Code
	}{
		"TooLarge":      {[]*crusterv1.UploadModuleRequest{metadataPart("x"), half, half}, abi.CodeModuleTooLarge},
		"NoMetadata":    {[]*crusterv1.UploadModuleRequest{half}, abi.CodeBadRequest},
		"Nothing":       {nil, abi.CodeBadRequest},
		"MetadataTwice": {[]*crusterv1.UploadModuleRequest{metadataPart("x"), metadataPart("y")}, abi.CodeBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := b.upload(t, tc.parts...)
			st, _, wire, _ := detailsOf(t, err)
			require.Equal(t, codes.InvalidArgument, st.Code())
			require.Equal(t, string(tc.code), wire.GetCode(), st.Message())
		})
	}
}

func TestListAndDescribeModules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = shop
	b.engine.deployments = func(ctx context.Context, namespace string) ([]host.DeploymentInfo, error) {
		info, err := shop(ctx, namespace, "shop")
		return []host.DeploymentInfo{*info, {}}, err
	}

	all, err := b.modules.ListDeployments(t.Context(), &crusterv1.ListDeploymentsRequest{})
	require.NoError(t, err)
	require.Len(t, all.GetDeployments(), 2)
	one, err := b.modules.GetDeployment(t.Context(), &crusterv1.GetDeploymentRequest{Name: "shop"})
	require.NoError(t, err)
	require.Equal(t, "go/0.1.0", one.GetDeployment().GetSdk())
	require.EqualValues(t, 2, one.GetDeployment().GetVersion())
}

// TestUploadsAreAdmitted uploads to a host that has hardly any memory for it: an upload without
// room is refused, and nothing is kept of it.
func TestUploadsAreAdmitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.memory = budget.New(300 << 10)
	var sizes []int
	b.engine.push = func(_ context.Context, req host.PushRequest) (*host.DeploymentInfo, error) {
		sizes = append(sizes, len(req.Binary))
		require.Positive(t, b.engine.memory.Used(), "it is held for as long as it is worked on")
		return &host.DeploymentInfo{}, nil
	}
	pieces := func(n int) []*crusterv1.UploadModuleRequest {
		return append(
			[]*crusterv1.UploadModuleRequest{metadataPart("m")},
			slices.Repeat([]*crusterv1.UploadModuleRequest{chunkPart(make([]byte, 10<<10))}, n)...,
		)
	}
	_, err := b.upload(t, pieces(10)...)
	require.NoError(t, err)
	_, err = b.modules.PushModule(t.Context(), &crusterv1.PushModuleRequest{
		Metadata: &crusterv1.PushMetadata{Name: "m"}, Binary: make([]byte, 100<<10),
	})
	require.NoError(t, err)
	require.Equal(t, []int{100 << 10, 100 << 10}, sizes)

	_, err = b.upload(t, pieces(20)...)
	requireCode(t, abi.CodeModuleTooLarge, err)
	other := b.engine.memory.Empty()
	require.True(t, other.Grow(200<<10))
	_, err = b.upload(t, pieces(10)...)
	requireCode(t, abi.CodeOverloaded, err)
	_, err = b.modules.PushModule(t.Context(), &crusterv1.PushModuleRequest{
		Metadata: &crusterv1.PushMetadata{Name: "m"}, Binary: make([]byte, 101<<10),
	})
	requireCode(t, abi.CodeOverloaded, err)
	require.Len(t, sizes, 2)
	require.EqualValues(t, 200<<10, b.engine.memory.Used())
}

func requireCode(t *testing.T, want abi.Code, err error) {
	t.Helper()
	_, _, wire, _ := detailsOf(t, err)
	require.Equal(t, string(want), wire.GetCode())
}
