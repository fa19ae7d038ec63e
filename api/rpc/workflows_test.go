package rpc_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func jsonPayload(text string) *crusterv1.Payload {
	return &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: text}}
}

func packedPayload(v any) *crusterv1.Payload {
	return &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: abi.MustMarshal(v)}}
}

// shop is a deployment with one workflow whose request has a float.
func shop(context.Context, string, string) (*host.DeploymentInfo, error) {
	return &host.DeploymentInfo{
		Deployment: journal.Deployment{Namespace: "default", Name: "shop", Digest: "abc", Version: 2, Config: map[string]string{"TOKEN": "secret"}, UpdatedAt: 1},
		Imports:    []string{"cruster.sleep"},
		Manifest: &abi.Manifest{SDK: "go/0.1.0", Workflows: []abi.WorkflowInfo{{
			Name: "Buy", Key: abi.KeyFromRequest,
			Input: &abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{{Name: "price", Required: true, Schema: &abi.Schema{Type: abi.TypeFloat}}}},
		}}, Activities: []abi.ActivityInfo{{Name: "pay", Timeout: int64(time.Second)}}},
	}, nil
}

func completed(value any) *journal.Execution {
	return &journal.Execution{
		ID: journal.IDOf("default", "shop/Buy", "k"), Namespace: "default", Workflow: "shop/Buy", Key: "k", State: journal.Completed,
		Value: abi.MustMarshal(value), CreatedAt: 1, FinishedAt: 2,
	}
}

func TestExecuteTurnsJSONIntoWhatTheTypeWants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = shop
	var got host.StartRequest
	b.engine.start = func(_ context.Context, req host.StartRequest) (*journal.Execution, bool, error) {
		got = req
		return completed(map[string]any{"paid": 5.0}), true, nil
	}

	resp, err := b.workflows.Execute(t.Context(), &crusterv1.ExecuteRequest{Start: &crusterv1.StartOptions{Workflow: "shop/Buy", Input: jsonPayload(`{"price":5}`)}})
	require.NoError(t, err)
	require.Equal(t, abi.MustMarshal(map[string]any{"price": 5.0}), got.Input)
	require.Equal(t, "default", got.Namespace)
	require.Equal(t, abi.KeyDerived, got.KeyMode)
	require.True(t, resp.GetExisted())
	require.Equal(t, "shop/Buy/k", resp.GetExecution().GetName())
	require.Equal(t, crusterv1.State_STATE_COMPLETED, resp.GetExecution().GetState())
	require.JSONEq(t, `{"paid":5.0}`, resp.GetExecution().GetResult().GetJson())
}

// recordStarts has every start answered by a finished execution, and returns where
// the last request is to be found.
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
		_, err := b.workflows.Execute(t.Context(), &crusterv1.ExecuteRequest{Start: &crusterv1.StartOptions{Workflow: "shop/Buy", Input: nothing}})
		require.NoError(t, err)
		require.Nil(t, got.Input)
	}
}

func TestExecuteAnswersInTheFormOfTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := recordStarts(b)

	start := &crusterv1.StartOptions{Workflow: "shop/Buy", Input: packedPayload(map[string]any{"price": 1.5}), Idempotency: &crusterv1.StartOptions_RawKey{RawKey: "k"}}
	resp, err := b.workflows.Execute(t.Context(), &crusterv1.ExecuteRequest{Start: start})
	require.NoError(t, err)
	require.Equal(t, abi.KeyRaw, got.KeyMode)
	require.Equal(t, "k", got.Key)
	require.Equal(t, []byte{1}, resp.GetExecution().GetResult().GetMsgpack())

	resp, err = b.workflows.Execute(t.Context(), &crusterv1.ExecuteRequest{Start: start, Encoding: crusterv1.Encoding_ENCODING_JSON})
	require.NoError(t, err)
	require.Equal(t, "1", resp.GetExecution().GetResult().GetJson())
}

func TestAFailedWorkflowIsAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.start = func(context.Context, host.StartRequest) (*journal.Execution, bool, error) {
		return &journal.Execution{Namespace: "default", Workflow: "shop/Buy", Key: "k", State: journal.Running}, false, nil
	}
	b.engine.wait = func(_ context.Context, namespace, execution string) (*journal.Execution, error) {
		require.Equal(t, "shop/Buy/k", execution)
		e := abi.Errorf(abi.CodeWorkflowFailed, "no money \xff")
		e.Type, e.Details = "broke", abi.MustMarshal(7)
		return &journal.Execution{Namespace: namespace, Workflow: "shop/Buy", Key: "k", State: journal.Failed, Error: e}, nil
	}

	resp, err := b.workflows.Execute(t.Context(), &crusterv1.ExecuteRequest{Start: &crusterv1.StartOptions{Workflow: "shop/Buy"}})
	require.NoError(t, err)
	require.Equal(t, crusterv1.State_STATE_FAILED, resp.GetExecution().GetState())
	require.Equal(t, "no money \uFFFD", resp.GetExecution().GetError().GetMessage(), "text of a module need not be UTF-8")
	require.Equal(t, "broke", resp.GetExecution().GetError().GetType())
	require.Equal(t, []byte{7}, resp.GetExecution().GetError().GetDetails())
}

func TestBadRequestsNeverReachTheEngine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = shop // every other method panics
	start := func(o *crusterv1.StartOptions) error {
		_, err := b.workflows.Start(t.Context(), &crusterv1.StartRequest{Start: o})
		return err
	}
	for _, tc := range []struct {
		name string
		call func() error
		code abi.Code
		want string
	}{
		{"UnknownField", func() error {
			return start(&crusterv1.StartOptions{Workflow: "shop/Buy", Input: jsonPayload(`{"prize":1}`)})
		}, abi.CodeBadInput, `the input of shop/Buy: unknown field "prize"; did you mean "price"?`},
		{"BadJSON", func() error { return start(&crusterv1.StartOptions{Workflow: "shop/Buy", Input: jsonPayload(`{`)}) }, abi.CodeBadInput, "ends early"},
		{"BadMsgpack", func() error {
			return start(&crusterv1.StartOptions{Workflow: "shop/Buy", Input: &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: []byte{0xc1}}}})
		}, abi.CodeBadInput, "malformed"},
		{"UnknownWorkflow", func() error { return start(&crusterv1.StartOptions{Workflow: "shop/Sell", Input: jsonPayload(`{}`)}) }, abi.CodeUnknownWorkflow, "it has Buy"},
		{"NoWorkflow", func() error { return start(&crusterv1.StartOptions{Workflow: "shop", Input: jsonPayload(`{}`)}) }, abi.CodeUnknownWorkflow, "is no name of a workflow"},
		{"Namespace", func() error { return start(&crusterv1.StartOptions{Namespace: "No Such", Workflow: "shop/Buy"}) }, abi.CodeBadRequest, "namespace"},
		{"Execution", func() error {
			_, err := b.workflows.Poll(t.Context(), &crusterv1.PollRequest{Execution: "shop/Buy"})
			return err
		}, abi.CodeBadRequest, "is no name of an execution"},
		{"Encoding", func() error {
			_, err := b.workflows.Poll(t.Context(), &crusterv1.PollRequest{Execution: "a/B/c", Encoding: 9})
			return err
		}, abi.CodeBadRequest, "no encoding 9"},
		{"PageSize", func() error {
			_, err := b.workflows.List(t.Context(), &crusterv1.ListRequest{PageSize: 1001})
			return err
		}, abi.CodeBadRequest, "not between 1 and 1000"},
		{"State", func() error {
			_, err := b.workflows.List(t.Context(), &crusterv1.ListRequest{State: 99})
			return err
		}, abi.CodeBadRequest, "no state 99"},
		{"Reason", func() error {
			_, err := b.workflows.Interrupt(t.Context(), &crusterv1.InterruptRequest{Execution: "a/B/c", Reason: string(make([]byte, 5<<10))})
			return err
		}, abi.CodeBadRequest, "over the limit"},
		{"ReasonToFail", func() error {
			_, err := b.workflows.Fail(t.Context(), &crusterv1.FailRequest{Execution: "a/B/c", Reason: string(make([]byte, 5<<10))})
			return err
		}, abi.CodeBadRequest, "over the limit"},
		{"DeferredName", func() error {
			_, err := b.deferreds.Resolve(t.Context(), &crusterv1.ResolveRequest{Execution: "a/B/c"})
			return err
		}, abi.CodeBadRequest, "is no name of a deferred"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st, _, wire, _ := detailsOf(t, tc.call())
			require.Equal(t, string(tc.code), wire.GetCode(), st.Message())
			require.Contains(t, wire.GetMessage(), tc.want)
		})
	}
}

func TestWaitHonoursDeadlineAndCancellation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waiting := make(chan struct{})
	b.engine.wait = func(ctx context.Context, _, execution string) (*journal.Execution, error) {
		if execution == "a/B/cancelled" {
			close(waiting)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.workflows.Wait(ctx, &crusterv1.WaitRequest{Execution: "a/B/late"})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))

	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-waiting
		cancel()
	}()
	_, err = b.workflows.Wait(ctx, &crusterv1.WaitRequest{Execution: "a/B/cancelled"})
	require.Equal(t, codes.Canceled, status.Code(err))
}

func TestShutdownEndsWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.wait = func(ctx context.Context, _, _ string) (*journal.Execution, error) {
		go b.server.Shutdown(context.Background())
		<-ctx.Done()
		return nil, ctx.Err()
	}

	_, err := b.workflows.Wait(t.Context(), &crusterv1.WaitRequest{Execution: "a/B/c"})
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.Unavailable, st.Code())
	require.Equal(t, string(abi.CodeShuttingDown), wire.GetCode())
}

func TestDescribeTellsEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	since := time.Unix(100, 0).UTC()
	b.engine.describe = func(context.Context, string, string) (*host.Description, error) {
		exec := completed("x")
		exec.Input, exec.Interrupt, exec.Parent = abi.MustMarshal(map[string]any{"a": 1}), &journal.Interrupt{At: 5, Reason: "why"}, journal.ID{1}
		return &host.Description{
			Execution: *exec, Entries: 3, Resident: true,
			Pending:   []host.PendingOp{{Number: 4, Kind: "activity", Name: "pay", Since: since, Attempt: 2, LastError: abi.Errorf(abi.CodeActivityFailed, "no")}},
			Deferreds: []journal.Deferred{{Name: "d", Value: abi.MustMarshal(true), At: 7}},
		}, nil
	}

	d, err := b.workflows.Describe(t.Context(), &crusterv1.DescribeRequest{Execution: "shop/Buy/k"})
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, d.GetInput().GetJson())
	require.Equal(t, "why", d.GetExecution().GetInterruption().GetReason())
	require.NotEmpty(t, d.GetExecution().GetParentId())
	require.EqualValues(t, 3, d.GetEntries())
	require.Equal(t, since, d.GetPending()[0].GetSince().AsTime())
	require.Nil(t, d.GetPending()[0].GetDueAt())
	require.Equal(t, "CR-3001", d.GetPending()[0].GetLastError().GetCode())
	require.Equal(t, "true", d.GetDeferreds()[0].GetValue().GetJson())
}

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.history = func(_ context.Context, _, _ string, after uint64, limit int) ([]journal.Entry, error) {
		var page []journal.Entry
		for seq := after + 1; seq <= 3 && len(page) < limit; seq++ {
			page = append(page, journal.Entry{Seq: seq, Kind: journal.Delivery, Op: journal.Op{Kind: "sleep", Number: uint32(seq)}, Value: abi.Nil, NextAt: journal.Never})
		}
		return page, nil
	}

	first, err := b.workflows.History(t.Context(), &crusterv1.HistoryRequest{Execution: "a/B/c", PageSize: 2})
	require.NoError(t, err)
	require.Len(t, first.GetEntries(), 2)
	require.EqualValues(t, 2, first.GetNext())
	require.Nil(t, first.GetEntries()[0].GetNextAt())
	rest, err := b.workflows.History(t.Context(), &crusterv1.HistoryRequest{Execution: "a/B/c", PageSize: 2, After: first.GetNext()})
	require.NoError(t, err)
	require.Len(t, rest.GetEntries(), 1)
	require.Zero(t, rest.GetNext())
}

func TestHeavyHistoryEndsEarly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	value := abi.MustMarshal(make([]byte, 100<<10))
	b.engine.history = func(_ context.Context, _, _ string, after uint64, limit int) ([]journal.Entry, error) {
		require.LessOrEqual(t, limit, 64)
		var page []journal.Entry
		for range limit {
			after++
			page = append(page, journal.Entry{Seq: after, Kind: journal.Delivery, Value: value})
		}
		return page, nil
	}

	page, err := b.workflows.History(t.Context(), &crusterv1.HistoryRequest{Execution: "a/B/c", PageSize: 1000, Encoding: crusterv1.Encoding_ENCODING_MSGPACK}, grpc.MaxCallRecvMsgSize(64<<20))
	require.NoError(t, err)
	require.Len(t, page.GetEntries(), 64)
	require.EqualValues(t, 64, page.GetNext())
}

func TestListPassesTheFilterOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.list = func(_ context.Context, f journal.Filter) (journal.Page, error) {
		require.Equal(t, journal.Filter{Namespace: "acme", Workflow: "shop/", State: journal.Paused, After: "c1", Limit: 7}, f)
		return journal.Page{Executions: []journal.Execution{{Workflow: "shop/Buy", Key: "k", State: journal.Paused}}, Next: "c2"}, nil
	}

	resp, err := b.workflows.List(t.Context(), &crusterv1.ListRequest{Namespace: "acme", Workflow: "shop/", State: crusterv1.State_STATE_PAUSED, PageToken: "c1", PageSize: 7})
	require.NoError(t, err)
	require.Equal(t, "c2", resp.GetNextPageToken())
	require.Equal(t, crusterv1.State_STATE_PAUSED, resp.GetExecutions()[0].GetState())
}

func TestDeferredsAreSettled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var got journal.Deferred
	b.engine.settle = func(_ context.Context, _, _ string, d journal.Deferred) error {
		got = d
		return nil
	}

	_, err := b.deferreds.Resolve(t.Context(), &crusterv1.ResolveRequest{Execution: "a/B/c", Name: "d", Value: jsonPayload(`{"ok":true}`)})
	require.NoError(t, err)
	require.Equal(t, journal.Deferred{Name: "d", Value: abi.MustMarshal(map[string]any{"ok": true})}, got)

	_, err = b.deferreds.Resolve(t.Context(), &crusterv1.ResolveRequest{Execution: "a/B/c", Name: "d"})
	require.NoError(t, err)
	require.Equal(t, abi.Nil, got.Value)

	_, err = b.deferreds.Reject(t.Context(), &crusterv1.RejectRequest{Execution: "a/B/c", Name: "d", Message: "no", Type: "t"})
	require.NoError(t, err)
	require.Equal(t, abi.CodeDeferredRejected, got.Error.Code)
	require.Equal(t, "t", got.Error.Type)
	require.Nil(t, got.Value)
}

func TestResultsThatJSONLacksAreTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.poll = func(context.Context, string, string) (*journal.Execution, error) { return completed(math.Inf(1)), nil }

	resp, err := b.workflows.Poll(t.Context(), &crusterv1.PollRequest{Execution: "a/B/c"})
	require.NoError(t, err)
	require.Equal(t, `"Inf"`, resp.GetExecution().GetResult().GetJson())
}

func TestFailIsPassedOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var heard []string
	b.engine.fail = func(_ context.Context, namespace, execution, reason string) error {
		heard = []string{namespace, execution, reason}
		if reason == "again" {
			return abi.Errorf(abi.CodeNotPaused, "a/B/c is failed")
		}
		return nil
	}

	_, err := b.workflows.Fail(t.Context(), &crusterv1.FailRequest{Namespace: "acme", Execution: "a/B/c", Reason: "gone"})
	require.NoError(t, err)
	require.Equal(t, []string{"acme", "a/B/c", "gone"}, heard)
	_, err = b.workflows.Fail(t.Context(), &crusterv1.FailRequest{Execution: "a/B/c", Reason: "again"})
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.FailedPrecondition, st.Code())
	require.Equal(t, string(abi.CodeNotPaused), wire.GetCode())
	_, err = b.workflows.Fail(t.Context(), &crusterv1.FailRequest{Reason: "whose?"})
	require.Error(t, err)
	require.Equal(t, "again", heard[2], "a request without an execution went through")
}
