package grpcserver_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// open is an execution of shop/Buy that is not over.
func open(key string, state journal.State, digest string) journal.Execution {
	return journal.Execution{
		ID:        journal.IDOf("default", "shop/Buy", key),
		Run:       journal.RunID{1},
		Namespace: "default",
		Workflow:  "shop/Buy",
		Key:       key,
		State:     state,
		Digest:    digest,
	}
}

// foundOpen finds an execution that is on the module old.
func foundOpen(context.Context, string, string) (*journal.Execution, error) {
	e := open("k", journal.Running, "old")
	return &e, nil
}

// unfit is the error of a module that does not fit.
func unfit(execution string) error {
	diff := &host.Diff{Rows: []replay.DiffRow{{Journal: "activity pay", Code: "activity charge", Note: "another step"}}}
	return &host.Misfit{Cause: abi.Errorf(abi.CodeDoesNotFit, "%s does not fit\n%s", execution, diff), Diff: diff}
}

const digest = "0af0000000000000000000000000000000000000000000000000000000000000"

func TestMove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.poll = foundOpen
	var asked []string
	b.engine.move = func(_ context.Context, namespace, execution, to string) (*journal.Execution, error) {
		asked = []string{namespace, execution, to}
		e := open("k", journal.Running, "new")
		return &e, nil
	}

	resp, err := b.workflows.MoveExecution(
		t.Context(), &crusterv1.MoveExecutionRequest{Namespace: "acme", Execution: "shop/Buy/k"},
	)
	require.NoError(t, err)
	require.Equal(t, []string{"acme", "shop/Buy/k", host.Latest}, asked)
	require.Equal(t, "new", resp.GetExecution().GetDigest())
	require.Equal(t, "old", resp.GetFromDigest())
	require.Equal(t, journal.RunID{1}.String(), resp.GetExecution().GetRunId())
	_, err = b.workflows.MoveExecution(
		t.Context(), &crusterv1.MoveExecutionRequest{Execution: "shop/Buy/k", To: digest},
	)
	require.NoError(t, err)
	require.Equal(t, []string{"default", "shop/Buy/k", digest}, asked)
}

// A misfit is told in words and as rows.
func TestMoveThatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.poll = foundOpen
	b.engine.move = func(_ context.Context, _, execution, _ string) (*journal.Execution, error) {
		return nil, unfit(execution)
	}

	_, err := b.workflows.MoveExecution(t.Context(), &crusterv1.MoveExecutionRequest{Execution: "shop/Buy/k"})
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.FailedPrecondition, st.Code())
	require.Equal(t, string(abi.CodeDoesNotFit), wire.GetCode())
	require.Contains(t, st.Message(), "≠ activity pay   activity charge  (another step)")
	var misfit *rpcerror.Misfit
	require.ErrorAs(t, rpcerror.From(err), &misfit)
	require.Equal(t, "activity charge", misfit.Diff.GetRows()[0].GetCode())
}

func TestFork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var asked host.ForkRequest
	b.engine.fork = func(_ context.Context, _, execution string, req host.ForkRequest) (*journal.Execution, error) {
		require.Equal(t, "shop/Buy/k", execution)
		asked = req
		e := open("k2", journal.Running, "new")
		return &e, nil
	}

	resp, err := b.workflows.ForkExecution(t.Context(), &crusterv1.ForkExecutionRequest{
		Execution: "shop/Buy/k", At: 7, To: "latest", Key: "k2",
	})
	require.NoError(t, err)
	require.Equal(t, host.ForkRequest{At: 7, To: host.Latest, Key: "k2"}, asked)
	require.Equal(t, "shop/Buy/k2", resp.GetExecution().GetName())
	_, err = b.workflows.ForkExecution(t.Context(), &crusterv1.ForkExecutionRequest{Execution: "shop/Buy/k"})
	require.NoError(t, err)
	require.Equal(t, host.ForkRequest{}, asked, "the module of the original, and a key that is made of its key")
}

func TestMovesAndForksRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t) // the engine panics if anything reaches it
	move := func(req *crusterv1.MoveExecutionRequest) error {
		_, err := b.workflows.MoveExecution(t.Context(), req)
		return err
	}
	fork := func(req *crusterv1.ForkExecutionRequest) error {
		_, err := b.workflows.ForkExecution(t.Context(), req)
		return err
	}
	moveAll := func(req *crusterv1.MoveExecutionsRequest) error {
		_, err := b.moveAll(t, req)
		return err
	}
	for name, tc := range map[string]struct {
		err  error
		code abi.Code
	}{
		"MoveWithoutExecution": {move(&crusterv1.MoveExecutionRequest{}), abi.CodeBadRequest},
		"MoveToWhat": {
			move(&crusterv1.MoveExecutionRequest{Execution: "a/B/c", To: "newest"}), abi.CodeBadRequest,
		},
		"MoveInNoNamespace": {
			move(&crusterv1.MoveExecutionRequest{Namespace: "No Such", Execution: "a/B/c"}), abi.CodeBadRequest,
		},
		"ForkOfNothing": {fork(&crusterv1.ForkExecutionRequest{Execution: "a/B"}), abi.CodeBadRequest},
		"ForkToWhat": {
			fork(&crusterv1.ForkExecutionRequest{Execution: "a/B/c", To: "../x"}), abi.CodeBadRequest,
		},
		"ForkWithControlInKey": {
			fork(&crusterv1.ForkExecutionRequest{Execution: "a/B/c", Key: "a\nb"}), abi.CodeBadKey,
		},
		"ForkWithEndlessKey": {
			fork(&crusterv1.ForkExecutionRequest{Execution: "a/B/c", Key: strings.Repeat("k", 10_000)}), abi.CodeBadKey,
		},
		"MoveAllOfEverything": {moveAll(&crusterv1.MoveExecutionsRequest{}), abi.CodeBadRequest},
		"MoveAllThatCompleted": {
			moveAll(&crusterv1.MoveExecutionsRequest{Workflow: "shop/", State: crusterv1.State_STATE_COMPLETED}),
			abi.CodeBadRequest,
		},
		"MoveAllOfNoState": {
			moveAll(&crusterv1.MoveExecutionsRequest{Workflow: "shop/", State: 99}), abi.CodeBadRequest,
		},
		"MoveAllToWhat": {moveAll(&crusterv1.MoveExecutionsRequest{Workflow: "shop/", To: "!"}), abi.CodeBadRequest},
		"MoveAllInNoNamespace": {
			moveAll(&crusterv1.MoveExecutionsRequest{Namespace: "No Such", Workflow: "shop/"}), abi.CodeBadRequest,
		},
		"MoveAllOfAnExecution": {
			moveAll(&crusterv1.MoveExecutionsRequest{Workflow: "shop/Buy/k"}), abi.CodeBadRequest,
		},
		"MoveAllOfNoDeployment": {moveAll(&crusterv1.MoveExecutionsRequest{Workflow: "/Buy"}), abi.CodeBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, _, wire, _ := detailsOf(t, tc.err)
			require.Equal(t, codes.InvalidArgument, st.Code())
			require.Equal(t, string(tc.code), wire.GetCode(), st.Message())
		})
	}
}

// moveAll collects the answers of the stream, and how it ended.
func (b *testBundle) moveAll(
	t *testing.T, req *crusterv1.MoveExecutionsRequest,
) ([]*crusterv1.MoveExecutionsResponse, error) {
	t.Helper()
	stream, err := b.workflows.MoveExecutions(t.Context(), req)
	require.NoError(t, err)
	var all []*crusterv1.MoveExecutionsResponse
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, resp)
	}
}
