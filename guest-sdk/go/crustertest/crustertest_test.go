package crustertest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/stretchr/testify/require"
)

// drifting depends on something that is not in its journal.
var drift atomic.Int64

var drifting = cruster.NewWorkflow("drifting", func(ctx cruster.Context, how string) (int64, error) {
	n := drift.Add(1)
	switch {
	case how == "argument":
		return n, cruster.Sleep(ctx, time.Duration(n)*time.Second)
	case how == "result":
		return n, nil
	case how == "more" && n > 1, how == "fewer" && n <= 1:
		return 0, cruster.Sleep(ctx, time.Second)
	}
	return 0, nil
})

// The cases share the counter, so they run one after the other.
func TestReplayFindsNondeterminism(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"argument": "then: issued 2 sleep 1s",
		"result":   "ended with 2 instead of 1",
		"more":     "then: the end of the history",
		"fewer":    "now:  the workflow is over",
	} {
		drift.Store(0)
		var h crustertest.History
		_, err := crustertest.Run(t, drifting, how, crustertest.Record(&h))
		require.NoError(t, err)
		err = h.Replay()
		require.Equal(t, string(abi.CodeNondeterminism), cruster.ErrorCode(err), how)
		require.ErrorContains(t, err, want, how)
	}
}

func TestReplayIgnoresTheOrderOfMaps(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	_, err := crustertest.Run(t, mapping, 0, crustertest.Record(&h))
	require.NoError(t, err)
	for range 10 {
		crustertest.Replay(t, &h)
	}
}

var tally = cruster.NewActivity("tally", func(_ *cruster.ActivityContext, m map[string]int) (int, error) { return len(m), nil })

var mapping = cruster.NewWorkflow("mapping", func(ctx cruster.Context, _ int) (map[string]int, error) {
	m := map[string]int{}
	for i := range 50 {
		m[fmt.Sprint(i)] = i
	}
	_, err := tally.Call(ctx, m)
	return m, err
})

func TestBadRequests(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, keyed, "")
	require.Equal(t, string(abi.CodeBadKey), cruster.ErrorCode(err))
}

var keyed = cruster.NewWorkflow("keyed", func(cruster.Context, string) (int, error) { return 0, nil },
	cruster.RawKey(func(s string) string { return s }))

// The kit refuses what the host refuses, in a replay as well.
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
