package crustertest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// busyEnds tells those of the test to end.
var busyEnds atomic.Pointer[atomic.Bool]

// busy issues ops, cancels them, logs and computes until it is told to end.
var busy = cruster.NewWorkflow("stuckBusy", func(ctx cruster.Context, _ cruster.None) (int, error) {
	for range 12 {
		cruster.Timer(ctx, time.Hour)
	}
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return 0, err
	}
	ends := busyEnds.Load()
	for n := 0; !ends.Load(); n++ {
		if n%10_000 != 0 {
			continue
		}
		within, cancel := cruster.WithCancel(ctx)
		cruster.Timer(within, time.Hour)
		cancel()
		if n%10_000_000 == 0 {
			cruster.Logger(ctx).Info("busy")
		}
	}
	return 0, nil
})

// A workflow that goes on after its limit has no host any more: what it asks for touches nothing of the test.
func TestBusyWorkflow(t *testing.T) {
	t.Parallel()
	ends := new(atomic.Bool)
	busyEnds.Store(ends)
	defer ends.Store(true)
	for range 3 {
		var h crustertest.History
		_, err := crustertest.Run(t, busy, cruster.None{}, crustertest.TurnLimit(200*time.Millisecond), crustertest.Record(&h))
		require.Regexp(t, `^CR-4005: .*; pending: sleep 1h0m0s \(op 2\), .*, sleep 1h0m0s \(op 11\) and [23] more$`, err)
		require.NotEmpty(t, h.Events)
	}
}
