package grpcserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func TestExecuteTurnsJSONIntoWhatTheTypeWants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = shop
	var got host.StartRequest
	b.engine.start = func(_ context.Context, req host.StartRequest) (*journal.Execution, bool, error) {
		got = req
		return completed(map[string]any{"paid": 5.0}), true, nil
	}

	resp, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Start: &crusterv1.StartOptions{Workflow: "shop/Buy", Input: jsonPayload(`{"price":5}`)}, Wait: durationpb.New(
			time.Minute,
		),
	})
	require.NoError(t, err)
	require.Equal(t, abi.MustMarshal(map[string]any{"price": 5.0}), got.Input)
	require.Equal(t, "default", got.Namespace)
	require.Equal(t, abi.KeyDerived, got.KeyMode)
	require.True(t, resp.GetExisted())
	require.Equal(t, "shop/Buy/k", resp.GetExecution().GetName())
	require.Equal(t, crusterv1.State_STATE_COMPLETED, resp.GetExecution().GetState())
	require.JSONEq(t, `{"paid":5.0}`, resp.GetExecution().GetResult().GetJson())
}

// recordStarts answers every start with a finished execution, and returns where it keeps the last request.
func recordStarts(b *testBundle) *host.StartRequest {
	got := new(host.StartRequest)
	b.engine.start = func(_ context.Context, req host.StartRequest) (*journal.Execution, bool, error) {
		*got = req
		return completed(1), false, nil
	}
	return got
}

func TestExecuteWithoutAnInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := recordStarts(b)
	for _, nothing := range []*crusterv1.Payload{nil, {}} {
		got.Input = []byte("something")
		_, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
			Start: &crusterv1.StartOptions{Workflow: "shop/Buy", Input: nothing},
		})
		require.NoError(t, err)
		require.Nil(t, got.Input)
	}
}

func TestExecuteAnswersInTheFormOfTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := recordStarts(b)

	start := &crusterv1.StartOptions{
		Workflow:    "shop/Buy",
		Input:       packedPayload(map[string]any{"price": 1.5}),
		Idempotency: &crusterv1.StartOptions_RawKey{RawKey: "k"},
	}
	resp, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Start: start, Wait: durationpb.New(time.Minute),
	})
	require.NoError(t, err)
	require.Equal(t, abi.KeyRaw, got.KeyMode)
	require.Equal(t, "k", got.Key)
	require.Equal(t, []byte{1}, resp.GetExecution().GetResult().GetMsgpack())

	resp, err = b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Start: start, Encoding: crusterv1.Encoding_ENCODING_JSON, Wait: durationpb.New(time.Minute),
	})
	require.NoError(t, err)
	require.Equal(t, "1", resp.GetExecution().GetResult().GetJson())
}
