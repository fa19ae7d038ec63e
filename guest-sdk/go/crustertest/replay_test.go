package crustertest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// drift is a state outside the journal. The workflow drifting depends on it, so it is not deterministic.
var drift atomic.Int64

var drifting = cruster.NewWorkflow("drifting", func(ctx cruster.Context, how string) (int64, error) {
	n := drift.Add(1)
	switch {
	case how == "argument":
		return n, cruster.Sleep(ctx, time.Duration(n)*time.Second)
	case how == "input":
		_, err := tally.Call(ctx, map[string]int{"a": int(n), "b": 2})
		return 0, err
	case how == "policy":
		_, err := tally.With(cruster.Retries(int(n))).Call(ctx, nil)
		return 0, err
	case how == "order":
		first := cruster.Timer(ctx, time.Duration(n)*time.Second)
		cruster.Timer(ctx, time.Duration(3-n)*time.Second)
		_, err := first.Await(ctx)
		return 0, err
	case how == "waits":
		first := cruster.Timer(ctx, time.Second)
		if n == 1 {
			cruster.Timer(ctx, 2*time.Second)
		}
		_, err := first.Await(ctx)
		return 0, err
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
		"argument": "event 2 (- recorded, + now)\n    issued 1 interrupted\n  - issued 2 sleep 1s\n  + issued 2 sleep 2s\n",
		"input": "  - issued 2 activity tally {input: {a: 1, b: 2}}\n  + issued 2 activity tally {input: {a: 2, b: " +
			"2}}\n  they differ in input.a: 1 recorded, 2 now\n",
		"policy": "  - issued 2 activity tally {input: null}\n  + issued 2 activity tally {input: null}\n  they " +
			"differ in retry.retries: 1 recorded, 2 now\n",
		"result": "  - ended with 1\n  + ended with 2\n",
		"more":   "  - ended with 0\n  + issued 2 sleep 1s\n",
		"fewer":  "  - issued 2 sleep 1s\n  + ended with 0\n",
		"order": "  - issued 2 sleep 1s\n  + issued 2 sleep 2s\nThe same comes in another order: does the code range " +
			"over a map",
		"waits": "  - issued 3 sleep 2s\n  + waits for 2 sleep 1s\n",
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

var tally = cruster.NewActivity("tally", func(_ *cruster.ActivityContext, m map[string]int) (int, error) {
	return len(m), nil
})

var mapping = cruster.NewWorkflow("mapping", func(ctx cruster.Context, _ int) (map[string]int, error) {
	m := map[string]int{}
	for i := range 50 {
		m[fmt.Sprint(i)] = i
	}
	_, err := tally.Call(ctx, m)
	return m, err
})
