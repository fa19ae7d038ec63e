package crustertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// The test kit refuses the same ops as the host, also in a replay.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	codes, err := crustertest.Run(t, refused, 0, crustertest.Record(&h),
		crustertest.StubWorkflow("other/Stubbed", func(int) (int, error) { return 0, nil }))
	require.NoError(t, err)
	require.Equal(t, []string{
		string(abi.CodeBadKey), string(abi.CodeBadKey), string(abi.CodeBadKey),
		string(abi.CodeBadBody), string(abi.CodeBadBody), string(abi.CodeAlreadyOver),
	}, codes)
	crustertest.Replay(t, &h)
}

var (
	stubbed = cruster.RemoteWorkflow[int, int]("other/Stubbed")
	early   = cruster.NewDeferred[int]("early")

	refused = cruster.NewWorkflow("refused", func(ctx cruster.Context, _ int) ([]string, error) {
		var codes []string
		note := func(_ any, err error) { codes = append(codes, cruster.ErrorCode(err)) }
		note(keyed.Client().WithKeyRaw("a\nb").Execute(ctx, "x"))
		note(keyed.Client().WithKey("").Start(ctx, "x"))
		note(stubbed.WithKeyRaw("\xff").Execute(ctx, 1))
		note(tally.With(cruster.ActivityKey("a\nb")).Call(ctx, nil))
		note(stubbed.Poll(ctx, "a\nb"))

		id, err := keyed.Client().Start(ctx, "over")
		if err != nil {
			return nil, err
		}
		if _, err := keyed.Client().Execute(ctx, "over"); err != nil {
			return nil, err
		}
		note(early.ResolveIn(ctx, id, 1))
		return codes, nil
	})
)
