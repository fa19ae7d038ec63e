package grpcserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func TestStartSaysWhatToDoWithAFinishedRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := recordStarts(b)
	for p, want := range map[crusterv1.IfFinished]host.IfFinished{
		crusterv1.IfFinished_IF_FINISHED_UNSPECIFIED:    "",
		crusterv1.IfFinished_IF_FINISHED_RETURN:         abi.ReturnFinished,
		crusterv1.IfFinished_IF_FINISHED_RESTART:        abi.RestartFinished,
		crusterv1.IfFinished_IF_FINISHED_RESTART_FAILED: abi.RestartFailed,
		crusterv1.IfFinished_IF_FINISHED_REFUSE:         abi.RefuseFinished,
	} {
		_, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
			Start: &crusterv1.StartOptions{Workflow: "shop/Buy", IfFinished: p, RequestId: "r"},
		})
		require.NoError(t, err)
		require.Equal(t, want, got.IfFinished)
		require.Equal(t, "r", got.RequestID)
	}
	_, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Start: &crusterv1.StartOptions{Workflow: "shop/Buy", IfFinished: 99},
	})
	requireCode(t, abi.CodeBadRequest, err)
}

func TestRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = shop
	var got host.RestartRequest
	b.engine.restart = func(_ context.Context, _, _ string, req host.RestartRequest) (*journal.Execution, bool, error) {
		got = req
		return completed(1), true, nil
	}
	resp, err := b.workflows.RestartExecution(t.Context(), &crusterv1.RestartExecutionRequest{
		Execution: "shop/Buy/k", Input: jsonPayload(`{"price":5}`), RequestId: "r",
	})
	require.NoError(t, err)
	require.True(t, resp.GetExisted())
	require.Equal(
		t, host.RestartRequest{Input: abi.MustMarshal(map[string]any{"price": 5.0}), To: host.Latest, RequestID: "r"},
		got,
	)
	_, err = b.workflows.RestartExecution(t.Context(), &crusterv1.RestartExecutionRequest{Execution: "shop/Buy/k"})
	require.NoError(t, err)
	require.Nil(t, got.Input, "that of the run before")
	for _, bad := range []*crusterv1.RestartExecutionRequest{
		{}, {Execution: "shop/Buy/k", To: "no digest"}, {Execution: "shop/Buy/k", Input: jsonPayload("{")},
	} {
		_, err := b.workflows.RestartExecution(t.Context(), bad)
		require.Error(t, err)
	}
}

// A wrong input is refused in the words of a start.
func TestRestartSaysWhatIsWrongWithAnInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = shop
	b.engine.restart = func(context.Context, string, string, host.RestartRequest) (*journal.Execution, bool, error) {
		return nil, false, abi.Errorf(abi.CodeBadInput, "the field %q is missing", "price")
	}
	_, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Start: &crusterv1.StartOptions{Workflow: "shop/Buy", Input: jsonPayload(`{"prize":1}`)},
	})
	_, _, want, _ := detailsOf(t, err)
	_, err = b.workflows.RestartExecution(t.Context(), &crusterv1.RestartExecutionRequest{
		Execution: "shop/Buy/k", Input: jsonPayload(`{"prize":1}`),
	})
	_, _, got, _ := detailsOf(t, err)
	require.Equal(t, want.GetMessage(), got.GetMessage())
	require.Equal(t, want.GetHint(), got.GetHint())
	require.Equal(t, "'cruster-host module describe shop' shows the type of the request.", got.GetHint())

	_, err = b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Start: &crusterv1.StartOptions{Workflow: "shop/Buy", Input: jsonPayload("o5")},
	})
	_, _, got, _ = detailsOf(t, err)
	require.Contains(t, got.GetMessage(), "the input of shop/Buy: the JSON text is malformed near byte 0")
	require.Equal(t, payload.HintOnQuotes, got.GetHint())

	for input, message := range map[*crusterv1.Payload]string{
		nil: `the input that the last run of shop/Buy had: the field "price" is missing`,
		// in the module that --to names
		jsonPayload(`{"price":1}`): `the input of shop/Buy: the field "price" is missing`,
	} {
		_, err = b.workflows.RestartExecution(
			t.Context(), &crusterv1.RestartExecutionRequest{Execution: "shop/Buy/k", Input: input},
		)
		_, _, got, _ = detailsOf(t, err)
		require.Equal(t, message, got.GetMessage())
		require.Equal(t, want.GetHint(), got.GetHint())
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var got string
	b.engine.delete = func(_ context.Context, _, execution, run string) error {
		got = execution + " " + run
		return nil
	}
	_, err := b.workflows.DeleteExecution(
		t.Context(), &crusterv1.DeleteExecutionRequest{Execution: "shop/Buy/k", RunId: "r"},
	)
	require.NoError(t, err)
	require.Equal(t, "shop/Buy/k r", got)
	_, err = b.workflows.DeleteExecution(t.Context(), &crusterv1.DeleteExecutionRequest{})
	require.Error(t, err)
}

func TestRunsAreNamedByTheirIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.poll = func(context.Context, string, string) (*journal.Execution, error) { return completed(1), nil }
	b.engine.wait = b.engine.poll
	b.engine.history = func(context.Context, string, string, uint64, int) ([]journal.Entry, bool, error) {
		return nil, false, nil
	}
	b.engine.describe = func(context.Context, string, string) (*host.Description, error) {
		return &host.Description{
			Execution: *completed(1), Earlier: []journal.Execution{*completed(2)}, EarlierMore: true,
		}, nil
	}
	_, err := b.workflows.GetExecution(
		t.Context(), &crusterv1.GetExecutionRequest{Execution: "shop/Buy/k", RunId: "polled"},
	)
	require.NoError(t, err)
	require.Equal(t, "polled", b.engine.run.Load())
	_, err = b.workflows.WaitExecution(
		t.Context(), &crusterv1.WaitExecutionRequest{Execution: "shop/Buy/k", RunId: "waited"},
	)
	require.NoError(t, err)
	require.Equal(t, "waited", b.engine.run.Load())
	_, err = b.workflows.ListHistory(t.Context(), &crusterv1.ListHistoryRequest{Execution: "shop/Buy/k", RunId: "read"})
	require.NoError(t, err)
	require.Equal(t, "read", b.engine.run.Load())
	d, err := b.workflows.GetExecution(
		t.Context(), &crusterv1.GetExecutionRequest{
			View: crusterv1.ExecutionView_EXECUTION_VIEW_FULL, Execution: "shop/Buy/k", RunId: "described",
		},
	)
	require.NoError(t, err)
	require.Equal(t, "described", b.engine.run.Load())
	require.Len(t, d.GetDetails().GetEarlier(), 1)
	require.True(t, d.GetDetails().GetEarlierMore())
}
