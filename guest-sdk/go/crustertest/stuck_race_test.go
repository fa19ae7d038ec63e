package crustertest_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// busyEnds tells the test's goroutines to end.
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
		runtime.Gosched() // for the tests beside it
		if n%100 != 0 {
			continue
		}
		within, cancel := cruster.WithCancel(ctx)
		cruster.Timer(within, time.Hour)
		cancel()
		if n%1_000_000 == 0 {
			cruster.Logger(ctx).Info("busy")
		}
	}
	return 0, nil
})

// A workflow that goes on after its limit has no host any more: its requests touch nothing of the
// test.
func TestBusyWorkflow(t *testing.T) {
	t.Parallel()
	ends := new(atomic.Bool)
	busyEnds.Store(ends)
	defer ends.Store(true)
	var h crustertest.History
	_, err := crustertest.Run(t, busy, cruster.None{}, crustertest.TurnLimit(2*time.Second), crustertest.Record(&h))
	require.Regexp(t, `^CR-4005: .*; pending: sleep 1h0m0s \(op 2\), .*, sleep 1h0m0s \(op 11\) and [23] more$`, err)
	require.NotEmpty(t, h.Events)
}

var restless = cruster.NewStatefulEntity[int]("StuckRestless")

var pace = cruster.NewOperation(
	restless,
	"pace",
	func(ctx *cruster.EntityContext, _ *int, _ cruster.None) (int, error) {
		ends := paceEnds.Load()
		for n := 0; !ends.Load(); n++ {
			runtime.Gosched()
			if n%1_000_000 == 0 {
				ctx.Logger().Info("paces")
			}
		}
		panic("and now it crashes")
	},
)

var paceEnds atomic.Pointer[atomic.Bool]

var paces = cruster.NewWorkflow("stuckPaces", func(ctx cruster.Context, _ cruster.None) (int, error) {
	_, err := pace.On("a").Call(ctx, cruster.None{})
	for range 10 {
		if err := cruster.Sleep(ctx, time.Minute); err != nil {
			return 0, err
		}
	}
	return 0, err
})

// Nor has an operation that goes on.
func TestBusyOperation(t *testing.T) {
	t.Parallel()
	ends := new(atomic.Bool)
	paceEnds.Store(ends)
	defer ends.Store(true)
	_, err := crustertest.Run(t, paces, cruster.None{}, crustertest.TurnLimit(2*time.Second))
	require.ErrorContains(t, err, `operation "pace": the module did not return from its turn before its deadline`)
}
