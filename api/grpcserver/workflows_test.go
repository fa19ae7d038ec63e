package grpcserver_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

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
		Deployment: journal.Deployment{
			Namespace: "default",
			Name:      "shop",
			Digest:    "abc",
			Version:   2,
			Config:    map[string]string{"TOKEN": "secret"},
			UpdatedAt: 1,
		},
		Imports: []string{"cruster.sleep"},
		Manifest: &abi.Manifest{SDK: "go/0.1.0", Workflows: []abi.WorkflowInfo{{
			Name: "Buy", Key: abi.KeyFromRequest,
			Input: &abi.Schema{
				Type:   abi.TypeStruct,
				Fields: []abi.Field{{Name: "price", Required: true, Schema: &abi.Schema{Type: abi.TypeFloat}}},
			},
		}}, Activities: []abi.ActivityInfo{{Name: "pay", Timeout: int64(time.Second)}}},
	}, nil
}

func completed(value any) *journal.Execution {
	return &journal.Execution{
		ID:         journal.IDOf("default", "shop/Buy", "k"),
		Namespace:  "default",
		Workflow:   "shop/Buy",
		Key:        "k",
		State:      journal.Completed,
		Value:      abi.MustMarshal(value),
		CreatedAt:  1,
		FinishedAt: 2,
	}
}

func TestAFailedWorkflowIsAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.start = func(context.Context, host.StartRequest) (*journal.Execution, bool, error) {
		return &journal.Execution{
			Namespace: "default", Workflow: "shop/Buy", Key: "k", State: journal.Running,
		}, false, nil
	}
	b.engine.wait = func(_ context.Context, namespace, execution string) (*journal.Execution, error) {
		require.Equal(t, "shop/Buy/k", execution)
		e := abi.Errorf(abi.CodeWorkflowFailed, "no money \xff")
		e.Type, e.Details = "broke", abi.MustMarshal(7)
		return &journal.Execution{
			Namespace: namespace, Workflow: "shop/Buy", Key: "k", State: journal.Failed, Error: e,
		}, nil
	}

	resp, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Start: &crusterv1.StartOptions{Workflow: "shop/Buy"}, Wait: durationpb.New(time.Minute),
	})
	require.NoError(t, err)
	require.Equal(t, crusterv1.State_STATE_FAILED, resp.GetExecution().GetState())
	require.Equal(
		t, "no money \uFFFD", resp.GetExecution().GetError().GetMessage(), "text of a module need not be UTF-8",
	)
	require.Equal(t, "broke", resp.GetExecution().GetError().GetType())
	require.Equal(t, []byte{7}, resp.GetExecution().GetError().GetDetails())
}

func TestBadRequestsNeverReachTheEngine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.deployment = shop // every other method panics
	start := func(o *crusterv1.StartOptions) error {
		_, err := b.workflows.StartExecution(t.Context(), &crusterv1.StartExecutionRequest{Start: o})
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
		{
			"BadJSON",
			func() error { return start(&crusterv1.StartOptions{Workflow: "shop/Buy", Input: jsonPayload(`{`)}) },
			abi.CodeBadInput, "ends early",
		},
		{"BadMsgpack", func() error {
			return start(&crusterv1.StartOptions{
				Workflow: "shop/Buy",
				Input:    &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: []byte{0xc1}}},
			})
		}, abi.CodeBadInput, "malformed"},
		{"UnknownWorkflow", func() error {
			return start(&crusterv1.StartOptions{Workflow: "shop/By", Input: jsonPayload(`{}`)})
		}, abi.CodeUnknownWorkflow, `; did you mean "Buy"?`},
		{"NoWorkflow", func() error {
			return start(&crusterv1.StartOptions{Workflow: "shop", Input: jsonPayload(`{}`)})
		}, abi.CodeUnknownWorkflow, "is not a valid name of a workflow"},
		{
			"Namespace",
			func() error { return start(&crusterv1.StartOptions{Namespace: "No Such", Workflow: "shop/Buy"}) },
			abi.CodeBadRequest, "namespace",
		},
		{"Execution", func() error {
			_, err := b.workflows.GetExecution(t.Context(), &crusterv1.GetExecutionRequest{Execution: "shop/Buy"})
			return err
		}, abi.CodeBadRequest, "is not a valid name of an execution"},
		{"Encoding", func() error {
			_, err := b.workflows.GetExecution(
				t.Context(), &crusterv1.GetExecutionRequest{Execution: "a/B/c", Encoding: 9},
			)
			return err
		}, abi.CodeBadRequest, "no encoding 9"},
		{"PageSize", func() error {
			_, err := b.workflows.ListExecutions(t.Context(), &crusterv1.ListExecutionsRequest{PageSize: 1001})
			return err
		}, abi.CodeBadRequest, "not between 1 and 1000"},
		{"State", func() error {
			_, err := b.workflows.ListExecutions(t.Context(), &crusterv1.ListExecutionsRequest{State: 99})
			return err
		}, abi.CodeBadRequest, "no state 99"},
		{"DeferredName", func() error {
			_, err := b.deferreds.ResolveDeferred(t.Context(), &crusterv1.ResolveDeferredRequest{Execution: "a/B/c"})
			return err
		}, abi.CodeBadRequest, "is not a valid name of a deferred"},
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
		return nil, journal.Coded("wait", ctx.Err())
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.workflows.WaitExecution(ctx, &crusterv1.WaitExecutionRequest{Execution: "a/B/late"})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))

	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-waiting
		cancel()
	}()
	_, err = b.workflows.WaitExecution(ctx, &crusterv1.WaitExecutionRequest{Execution: "a/B/cancelled"})
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

	_, err := b.workflows.WaitExecution(t.Context(), &crusterv1.WaitExecutionRequest{Execution: "a/B/c"})
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
		exec.Input, exec.Interrupt, exec.Parent = abi.MustMarshal(map[string]any{"a": 1}), &journal.Interrupt{
			At: 5, Reason: "why",
		}, journal.Caller{ID: journal.ID{1}}
		return &host.Description{
			Execution: *exec, Entries: 3, Resident: true,
			Pending: []host.PendingOp{{
				Number:    4,
				Kind:      "activity",
				Name:      "pay",
				Since:     since,
				Attempt:   2,
				LastError: abi.Errorf(abi.CodeActivityFailed, "no"),
			}},
			Deferreds: []journal.Settlement{{Name: "d", At: 7, Bytes: 1}},
		}, nil
	}
	b.engine.deferred = func(_ context.Context, _ journal.Receiver, s *journal.Settlement) (*journal.Deferred, error) {
		return &journal.Deferred{Name: s.Name, Value: abi.MustMarshal(true), At: 7}, nil
	}

	d, err := b.workflows.GetExecution(
		t.Context(), &crusterv1.GetExecutionRequest{
			View: crusterv1.ExecutionView_EXECUTION_VIEW_FULL, Execution: "shop/Buy/k",
		},
	)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, d.GetDetails().GetInput().GetJson())
	require.Equal(t, "why", d.GetExecution().GetInterruption().GetReason())
	require.NotEmpty(t, d.GetExecution().GetParentId())
	require.EqualValues(t, 3, d.GetDetails().GetEntries())
	require.Equal(t, since, d.GetDetails().GetPending()[0].GetIssueTime().AsTime())
	require.Nil(t, d.GetDetails().GetPending()[0].GetDueTime())
	require.Equal(t, "CR-3001", d.GetDetails().GetPending()[0].GetLastError().GetCode())
	require.Equal(t, "true", d.GetDetails().GetDeferreds()[0].GetValue().GetJson())
}

// TestLargeDescriptions describes executions that wait for very much, and that were sent very much: the answer is never
// larger than clients take by default.
func TestLargeDescriptions(t *testing.T) {
	t.Parallel()
	many := func(n, bytes int) (settled []journal.Settlement) {
		for i := range n {
			settled = append(settled, journal.Settlement{Name: fmt.Sprintf("d%05d", i), Bytes: bytes})
		}
		return settled
	}
	failure := abi.Errorf(abi.CodeActivityFailed, "%s", strings.Repeat("x", 16<<10))
	failure.Details = make([]byte, 256<<10)
	for name, test := range map[string]struct {
		pending   []host.PendingOp
		deferreds []journal.Settlement
		value     any
	}{
		"pending":      {pending: slices.Repeat([]host.PendingOp{{Name: "pay", LastError: failure}}, 2000)},
		"large values": {deferreds: many(400, 1<<20), value: make([]byte, 1<<20-5)},
		"they grow":    {deferreds: many(400, 1<<20), value: make([]any, 1<<20-5)},
		"many":         {deferreds: many(10_000, 401), value: strings.Repeat("x", 398)},
		"many and pending": {
			pending:   slices.Repeat([]host.PendingOp{{Name: "pay", LastError: failure}}, 900),
			deferreds: many(10_000, 401),
			value:     strings.Repeat("x", 398),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.engine.describe = func(context.Context, string, string) (*host.Description, error) {
				return &host.Description{
					Execution: journal.Execution{State: journal.Running},
					Pending:   test.pending,
					Deferreds: test.deferreds,
				}, nil
			}
			reads, value := 0, abi.MustMarshal(test.value)
			b.engine.deferred = func(
				_ context.Context, _ journal.Receiver, s *journal.Settlement,
			) (*journal.Deferred, error) {
				reads++
				return &journal.Deferred{Name: s.Name, Value: value}, nil
			}
			d, err := b.workflows.GetExecution(
				t.Context(), &crusterv1.GetExecutionRequest{
					View: crusterv1.ExecutionView_EXECUTION_VIEW_FULL, Execution: "shop/Buy/k",
				},
			)
			require.NoError(t, err)
			require.Equal(
				t, len(test.pending), len(d.GetDetails().GetPending())+int(d.GetDetails().GetPendingOmitted()),
			)
			require.Equal(
				t, len(test.deferreds), len(d.GetDetails().GetDeferreds())+int(d.GetDetails().GetDeferredsOmitted()),
			)
			omits := d.GetDetails().GetPendingOmitted() > 0
			whole := 0
			for _, s := range d.GetDetails().GetDeferreds() {
				if s.GetValue() == nil {
					omits = true
					require.EqualValues(t, test.deferreds[0].Bytes, s.GetOmittedBytes())
				} else {
					whole++
				}
			}
			require.True(t, omits)
			require.Zero(t, d.GetDetails().GetDeferredsOmitted(), "their names fit")
			require.LessOrEqual(t, reads, whole+1, "no value is read for nothing but the first that has no room")
			if name != "they grow" {
				require.Greater(t, proto.Size(d), 2<<20, "the room is used")
			}
		})
	}
}

func TestResultsThatJSONLacksAreTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.poll = func(context.Context, string, string) (*journal.Execution, error) {
		return completed(math.Inf(1)), nil
	}

	resp, err := b.workflows.GetExecution(t.Context(), &crusterv1.GetExecutionRequest{Execution: "a/B/c"})
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

	_, err := b.workflows.FailExecution(t.Context(), &crusterv1.FailExecutionRequest{
		Namespace: "acme", Execution: "a/B/c", Reason: "gone",
	})
	require.NoError(t, err)
	require.Equal(t, []string{"acme", "a/B/c", "gone"}, heard)
	_, err = b.workflows.FailExecution(
		t.Context(), &crusterv1.FailExecutionRequest{Execution: "a/B/c", Reason: "again"},
	)
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.FailedPrecondition, st.Code())
	require.Equal(t, string(abi.CodeNotPaused), wire.GetCode())
	_, err = b.workflows.FailExecution(t.Context(), &crusterv1.FailExecutionRequest{Reason: "whose?"})
	require.Error(t, err)
	require.Equal(t, "again", heard[2], "a request without an execution went through")
}
