package crustertest_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	attemptEnds  = make(chan int)
	attemptLoops atomic.Bool
)

// stays is an activity that hangs in its first attempts.
var stays = cruster.NewActivity("attemptStays", func(ctx *cruster.ActivityContext, on string) (int, error) {
	switch on {
	case "channel":
		<-attemptEnds // line: stays
		ctx.Logger().Info("too late")
		_, err := ctx.HTTP().Get("http://a/")
		attemptLate <- err
	case "loop":
		for attemptLoops.Load() {
		}
	case "context":
		<-ctx.Done()
		return 0, ctx.Err()
	case "once":
		if ctx.Attempt() == 1 {
			<-attemptEnds
		}
	}
	return ctx.Attempt(), nil
}, cruster.Timeout(time.Millisecond), cruster.Retries(1))

var attemptLate = make(chan error, 2)

var staying = cruster.NewWorkflow("attemptStaying", func(ctx cruster.Context, on string) (int, error) {
	return stays.Call(ctx, on)
})

// An attempt that hangs ends after its timeout, as on a host, and says where.
func TestHangingActivities(t *testing.T) { //nolint:paralleltest // it lets go of all that hang at its end
	attemptLoops.Store(true)
	_, err := crustertest.Run(t, staying, "loop")
	require.Regexp(
		t,
		`CR-3002: attempt 2 of activity "attemptStays" took longer than 1ms \(in .*init\.func\d+ crustertest/attempt_test\.go:\d+\)$`,
		err,
	)
	attemptLoops.Store(false)

	var h crustertest.History
	calls := 0
	_, err = crustertest.Run(
		t,
		staying,
		"channel",
		crustertest.Record(&h),
		crustertest.HandleHTTP(func(cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			calls++
			return cruster.HTTPResponse{}, nil
		}),
	)
	require.Regexp(
		t,
		`CR-3002: attempt 2 of activity "attemptStays" took longer than 1ms: goroutine \d+, in .*init\.func\d+, waits \(chan receive\) at `+
			lineOf(t, "attempt_test.go", "stays")+`$`,
		err,
	)

	got, err := crustertest.Run(t, staying, "once")
	require.NoError(t, err)
	require.Equal(t, 2, got, "it is tried again")

	_, err = crustertest.Run(t, staying, "context")
	require.ErrorContains(t, err, "context deadline exceeded", "what it returns itself")

	close(attemptEnds)
	for range 2 {
		require.Equal(t, "CR-3002", cruster.ErrorCode(<-attemptLate), "what comes late has no effect")
	}
	require.Zero(t, calls)
}

// A caller that waits too long for attempts that hang does not try them again.
func TestHangingForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan int)
		var attempts atomic.Int32
		_, err := crustertest.Run(
			t,
			staying,
			"",
			crustertest.TurnLimit(time.Microsecond),
			crustertest.Stub(stays, func(*cruster.ActivityContext, string) (int, error) {
				attempts.Add(1)
				<-ends
				return 0, nil
			}),
		)
		require.ErrorContains(t, err, `CR-3002: attempt 1 of activity "attemptStays" took longer than 1ms: goroutine `)
		require.EqualValues(t, 1, attempts.Load())
		close(ends)
	})
}

// A stub that ends its goroutine, as t.FailNow does, ends the test's goroutine.
func TestStubEndsTest(t *testing.T) {
	t.Parallel()
	wentOn := false
	var tested sync.WaitGroup
	tested.Go(func() {
		_, _ = crustertest.Execute(
			staying,
			"",
			crustertest.Stub(stays, func(*cruster.ActivityContext, string) (int, error) {
				runtime.Goexit()
				return 0, nil
			}),
		)
		wentOn = true
	})
	tested.Wait()
	require.False(t, wentOn)
}
