package crustertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	whenWord  = cruster.NewSignal[string]("word")
	whenGate  = cruster.NewDeferred[string]("gate")
	whenState = cruster.NewQuery[cruster.None, int]("state")
	whenStep  = cruster.NewActivity("whenStep", func(_ *cruster.ActivityContext, n int) (int, error) { return n, nil })
)

// stations stops at a few places, and notes when it came on.
var stations = cruster.NewWorkflow("whenStations", func(ctx cruster.Context, steps int) ([]string, error) {
	start, log, n := cruster.Now(ctx), []string{}, 0
	whenState.Handle(ctx, func(cruster.None) (int, error) { return n, nil })
	note := func(what string) { log = append(log, what+" "+cruster.Now(ctx).Sub(start).String()) }
	for n = range steps {
		if _, err := whenStep.Call(ctx, n); err != nil {
			note("stopped")
			return log, nil
		}
	}
	word, err := whenWord.Receive(ctx)
	if err != nil {
		return nil, err
	}
	note(word)
	gate, err := whenGate.Await(ctx)
	note(gate)
	return log, err
}).Accepts(whenWord, whenGate).Answers(whenState)

// Events happen where the workflow is, whenever that is.
func TestWhen(t *testing.T) {
	t.Parallel()
	asked := -1
	var h crustertest.History
	log, err := crustertest.Run(t, stations, 3, crustertest.Takes(whenStep, 30*time.Second), crustertest.Record(&h),
		crustertest.When(crustertest.Reached("activity whenStep").Times(3),
			crustertest.QueryAfter(10*time.Second, whenState, cruster.None{}, func(n int, err error) {
				require.NoError(t, err)
				asked = n
			})),
		crustertest.When(crustertest.Reached("deferred gate"), crustertest.ResolveAfter(time.Second, whenGate, "open")),
		crustertest.When(crustertest.Reached("receive word"), crustertest.Signal(whenWord, "go")))
	require.NoError(t, err)
	require.Equal(t, []string{"go 1m30s", "open 1m31s"}, log)
	require.Equal(t, 2, asked)
	crustertest.Replay(t, &h)

	log, err = crustertest.Run(
		t, stations, 9,
		crustertest.When(crustertest.Reached("activity").Times(4), crustertest.InterruptAfter(0, "enough")),
	)
	require.NoError(t, err)
	require.Equal(t, []string{"stopped 0s"}, log)
}

// A place that the workflow does not come to is a mistake, which says where it was.
func TestWhenNever(t *testing.T) {
	t.Parallel()
	for want, at := range map[string]crustertest.Place{
		`has not reached "activity whenStop"; it has reached activity whenStep, receive word, and waits for good`:         crustertest.Reached("activity whenStop"),
		`has not reached "activity whenStep" 3 times; it has reached activity whenStep, receive word, and waits for good`: crustertest.Reached("activity whenStep").Times(3),
	} {
		_, err := crustertest.Execute(stations, 2, crustertest.When(at, crustertest.Signal(whenWord, "go")))
		require.ErrorContains(t, err, want)
	}
	failed := &failing{TB: t}
	_, err := crustertest.Run(
		failed, stations, 0, crustertest.When(crustertest.Reached("sleep"), crustertest.InterruptAfter(0, "")),
	)
	require.Error(t, err)
	require.Equal(t, 1, failed.errors)
	require.PanicsWithValue(
		t,
		"crustertest: When takes what happens to an execution: SignalAfter, ResolveAfter, InterruptAfter and the like",
		func() { crustertest.When(crustertest.Reached("sleep"), crustertest.Namespace("x")) },
	)
}

// failing is a test that may fail.
type failing struct {
	testing.TB
	errors int
}

func (f *failing) Errorf(string, ...any) { f.errors++ }
