package grpcserver_test

import (
	"context"
	"errors"
	"io"
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

func checkMetadata(name string) *crusterv1.CheckModuleRequest {
	return &crusterv1.CheckModuleRequest{
		Part: &crusterv1.CheckModuleRequest_Metadata{Metadata: &crusterv1.CheckModuleMetadata{Name: name}},
	}
}

func checkChunk(b []byte) *crusterv1.CheckModuleRequest {
	return &crusterv1.CheckModuleRequest{Part: &crusterv1.CheckModuleRequest_Chunk{Chunk: b}}
}

// check sends parts and collects the answers, and how the stream ended.
func (b *testBundle) check(
	t *testing.T, parts ...*crusterv1.CheckModuleRequest,
) ([]*crusterv1.CheckModuleResponse, error) {
	t.Helper()
	stream, err := b.modules.CheckModule(t.Context())
	require.NoError(t, err)
	for _, p := range parts {
		if err := stream.Send(p); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	require.NoError(t, stream.CloseSend())
	var all []*crusterv1.CheckModuleResponse
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

// twoOpen reports a fitting and a misfit execution.
func twoOpen(_ context.Context, _ host.CheckRequest, report func(host.CheckResult, int, int) error) error {
	fits, differs := open("fits", journal.Running, "old"), open("differs", journal.Paused, "old")
	if err := report(host.CheckResult{Execution: &fits, Fits: true}, 1, 2); err != nil {
		return err
	}
	diff := &host.Diff{Rows: []replay.DiffRow{{Journal: "activity pay", Code: "activity charge", Note: "another step"}}}
	return report(
		host.CheckResult{Execution: &differs, Reason: "the journal has pay, the code does charge", Diff: diff}, 2, 2,
	)
}

func TestCheckAnswersOneByOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.check = func(
		ctx context.Context, req host.CheckRequest, report func(host.CheckResult, int, int) error,
	) error {
		require.Equal(
			t, host.CheckRequest{Namespace: "default", Name: "shop", Binary: []byte("wasm"), Types: true}, req,
		)
		return twoOpen(ctx, req, report)
	}

	all, err := b.check(t, checkMetadata("shop"), checkChunk([]byte("wa")), checkChunk([]byte("sm")))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.True(t, all[0].GetFits())
	require.EqualValues(t, 1, all[0].GetDone())
	require.EqualValues(t, 2, all[0].GetTotal())
	require.Equal(t, "shop/Buy/differs", all[1].GetExecution().GetName())
	require.False(t, all[1].GetFits())
	require.Equal(t, "another step", all[1].GetDiff().GetRows()[0].GetNote())
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t) // the engine panics if anything reaches it
	half := checkChunk(make([]byte, maxModule/2+1))
	for name, tc := range map[string]struct {
		parts []*crusterv1.CheckModuleRequest
		code  abi.Code
	}{
		"TooLarge":      {[]*crusterv1.CheckModuleRequest{checkMetadata("x"), half, half}, abi.CodeModuleTooLarge},
		"NoMetadata":    {[]*crusterv1.CheckModuleRequest{half}, abi.CodeBadRequest},
		"Nothing":       {nil, abi.CodeBadRequest},
		"MetadataTwice": {[]*crusterv1.CheckModuleRequest{checkMetadata("x"), checkMetadata("y")}, abi.CodeBadRequest},
		"Name":          {[]*crusterv1.CheckModuleRequest{checkMetadata("No Such")}, abi.CodeBadDeployment},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := b.check(t, tc.parts...)
			st, _, wire, _ := detailsOf(t, err)
			require.Equal(t, codes.InvalidArgument, st.Code())
			require.Equal(t, string(tc.code), wire.GetCode(), st.Message())
		})
	}
}

// A check may take as long as there are executions; a shutdown does not wait for it.
func TestShutdownEndsChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.check = func(ctx context.Context, _ host.CheckRequest, _ func(host.CheckResult, int, int) error) error {
		go b.server.Shutdown(context.Background())
		<-ctx.Done()
		return ctx.Err()
	}

	_, err := b.check(t, checkMetadata("shop"))
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.Unavailable, st.Code())
	require.Equal(t, string(abi.CodeShuttingDown), wire.GetCode())
}

func TestPushThatMustFit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.check = twoOpen // and a push would panic
	push := func() error {
		_, err := b.modules.PushModule(t.Context(), &crusterv1.PushModuleRequest{
			Metadata: &crusterv1.PushMetadata{Name: "shop", Check: true}, Binary: []byte("wasm"),
		})
		return err
	}

	err := push()
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.FailedPrecondition, st.Code())
	require.Equal(t, string(abi.CodeDoesNotFit), wire.GetCode())
	require.Contains(
		t, wire.GetMessage(),
		"does not fit 1 of 2 open executions of shop, so it was not deployed; the first is shop/Buy/differs: the "+
			"journal has pay",
	)
	require.Contains(t, wire.GetMessage(), "≠ activity pay   activity charge  (another step)")
	var misfit *rpcerror.Misfit
	require.ErrorAs(t, rpcerror.From(err), &misfit)
	require.Equal(t, "activity pay", misfit.Diff.GetRows()[0].GetJournal())

	pushed(b, "new")
	b.engine.check = func(
		_ context.Context, req host.CheckRequest, report func(host.CheckResult, int, int) error,
	) error {
		require.False(t, req.Types, "the push compares them, unless it is to be made anyway")
		fits := open("fits", journal.Running, "old")
		return report(host.CheckResult{Execution: &fits, Fits: true}, 1, 1)
	}
	require.NoError(t, push())
	b.engine.check = func(context.Context, host.CheckRequest, func(host.CheckResult, int, int) error) error {
		return abi.Errorf(abi.CodeDeploymentNotFound, "there is no deployment %q", "shop")
	}
	require.NoError(t, push(), "the first push of a deployment has nothing to fit")
	b.engine.check = func(context.Context, host.CheckRequest, func(host.CheckResult, int, int) error) error {
		return abi.Errorf(abi.CodeNotWasm, "no magic")
	}
	_, _, wire, _ = detailsOf(t, push())
	require.Equal(t, string(abi.CodeNotWasm), wire.GetCode())
}
