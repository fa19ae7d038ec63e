package grpcserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func payable(context.Context, string, string) (*abi.WorkflowInfo, error) {
	return &abi.WorkflowInfo{
		Name:    "Buy",
		Signals: []abi.SignalInfo{{Name: "paid", Value: &abi.Schema{Type: abi.TypeFloat}}, {Name: "poked"}},
	}, nil
}

func TestSignalsAreSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.workflowOf = payable
	var got host.SignalRequest
	b.engine.signal = func(_ context.Context, namespace, execution string, req host.SignalRequest) error {
		require.Equal(t, "default", namespace)
		require.Equal(t, "shop/Buy/k", execution)
		got = req
		return nil
	}
	send := func(o *crusterv1.SignalOptions) error {
		_, err := b.workflows.SignalExecution(
			t.Context(), &crusterv1.SignalExecutionRequest{Execution: "shop/Buy/k", Signal: o},
		)
		return err
	}
	require.NoError(t, send(&crusterv1.SignalOptions{Name: "paid", Value: jsonPayload("3"), RequestId: "r"}))
	require.Equal(
		t, host.SignalRequest{Name: "paid", Value: abi.MustMarshal(3.0), RequestID: "r"}, got,
		"JSON by the type of the signal",
	)
	require.NoError(t, send(&crusterv1.SignalOptions{Name: "paid", Value: packedPayload(4)}))
	require.Equal(t, abi.MustMarshal(4), got.Value)
	require.NoError(t, send(&crusterv1.SignalOptions{Name: "poked"}))
	require.Nil(t, got.Value, "the engine knows what an absent value means")

	for name, bad := range map[string]*crusterv1.SignalOptions{
		"CR-2015": {Name: ""},
		"CR-2033": {Name: "other", Value: jsonPayload("3")},
		"CR-2002": {Name: "paid", Value: jsonPayload(`"x"`)},
	} {
		err := send(bad)
		require.Equal(t, abi.Code(name), abi.CodeOf(rpcerror.From(err)), "%v", err)
	}
	err := send(&crusterv1.SignalOptions{Name: strings.Repeat("x", abi.MaxName+1)})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestSignalsMayStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = func(ctx context.Context, namespace, name string) (*host.DeploymentInfo, error) {
		info, err := shop(ctx, namespace, name)
		declared, _ := payable(ctx, "", "")
		info.Manifest.Workflows[0].Signals = declared.Signals
		return info, err
	}
	b.engine.withStart = func(
		_ context.Context, start host.StartRequest, signal host.SignalRequest,
	) (*journal.Execution, bool, error) {
		require.Equal(
			t,
			host.StartRequest{
				Namespace: "default",
				Workflow:  "shop/Buy",
				Input:     abi.MustMarshal(map[string]any{"price": 1.0}),
				Key:       "k",
				KeyMode:   abi.KeyRaw,
			},
			start,
		)
		require.Equal(t, host.SignalRequest{Name: "paid", Value: abi.MustMarshal(3.0)}, signal)
		return completed("done"), true, nil
	}
	start := &crusterv1.StartOptions{
		Workflow:    "shop/Buy",
		Input:       jsonPayload(`{"price":1}`),
		Idempotency: &crusterv1.StartOptions_RawKey{RawKey: "k"},
	}
	resp, err := b.workflows.SignalWithStart(t.Context(), &crusterv1.SignalWithStartRequest{
		Start: start, Signal: &crusterv1.SignalOptions{Name: "paid", Value: jsonPayload("3")},
	})
	require.NoError(t, err)
	require.True(t, resp.GetExisted())
	require.Equal(t, "shop/Buy/k", resp.GetExecution().GetName())

	_, err = b.workflows.SignalWithStart(t.Context(), &crusterv1.SignalWithStartRequest{
		Start: start, Signal: &crusterv1.SignalOptions{Name: "paid", Value: jsonPayload(`"x"`)},
	})
	require.ErrorContains(t, err, "the value of signal paid")
}
