package cruster_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// hanging waits in ways that the SDK does not know of, while a coroutine waits for the SDK.
var hanging = cruster.NewWorkflow("test.hanging", func(ctx cruster.Context, on string) (int, error) {
	var mu sync.Mutex
	cruster.Go(ctx, func(ctx cruster.Context) error {
		mu.Lock()
		return cruster.Sleep(ctx, time.Hour)
	})
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return 0, err
	}
	switch on {
	case "sync.Mutex.Lock":
		mu.Lock()
	case "chan receive":
		<-make(chan int)
	case "sync.WaitGroup.Wait":
		var group sync.WaitGroup
		group.Go(func() { mu.Lock() })
		group.Wait()
	}
	return 0, nil
})

// A lock, a channel and a wait group of Go: the message of a host, at once.
func TestWorkflowsThatHang(
	t *testing.T,
) { //nolint:paralleltest // tests beside it could let go of the locks, for all that the kit knows
	const here = `hang_test\.go:\d+`
	for on, count := range map[string]int{"sync.Mutex.Lock": 2, "chan receive": 2, "sync.WaitGroup.Wait": 3} {
		_, err := crustertest.Run(t, hanging, on, crustertest.TurnLimit(time.Hour))
		require.Equal(t, "CR-4012", cruster.ErrorCode(err), "%v", err)
		require.ErrorContains(t, err, "deadlock: every task waits and nothing is pending: goroutine ")
		require.Regexp(t, fmt.Sprintf(`goroutine \d+, in .*init\.func\d+, waits \(%s\) at \w+/%s`, on, here), err)
		require.Regexp(t, `goroutine \d+, in .*init\.func\d+\.1, waits \(coroutine\) at \w+/`+here, err)
		require.Equal(t, count, strings.Count(err.Error(), "goroutine "), "%v", err)
		require.NotContains(t, err.Error(), "\n")
	}
}

var hangingChild = cruster.NewWorkflow("test.hangingChild", func(ctx cruster.Context, on string) (int, error) {
	return hanging.Client().Execute(ctx, on)
})

func TestChildrenThatHang(t *testing.T) { //nolint:paralleltest // as above
	_, err := crustertest.Run(t, hangingChild, "sync.Mutex.Lock", crustertest.TurnLimit(time.Hour))
	require.ErrorContains(t, err, "CR-4012: deadlock: every task waits and nothing is pending: goroutine ")
}

// Tests that hang beside each other do not wait for each other.
func TestWorkflowsThatHangBesideEachOther(
	t *testing.T,
) { //nolint:paralleltest,tparallel // as above; those below are alone
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := crustertest.Run(
				t, hanging, "sync.Mutex.Lock", crustertest.TurnLimit(time.Hour),
				crustertest.ExecutionID("test/hanging/"+name),
			)
			require.Equal(t, "CR-4012", cruster.ErrorCode(err), "%v", err)
		})
	}
}
