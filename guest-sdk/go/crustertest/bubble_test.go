package crustertest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var fetchPage = cruster.NewActivity("bubbleFetch", func(ctx *cruster.ActivityContext, url string) (int, error) {
	res, err := ctx.HTTP().Get(url)
	return res.Status, err
})

var diary = cruster.NewStatefulEntity[[]time.Time]("BubbleDiary")

var note = cruster.NewOperation(
	diary,
	"note",
	func(_ *cruster.EntityContext, all *[]time.Time, _ cruster.None) (time.Time, error) {
		*all = append(*all, time.Now().UTC())
		return time.Now().UTC(), nil
	},
)

// clocks notes the time of the library's clock: at the start, after a sleep, in a coroutine and in
// a goroutine.
var clocks = cruster.NewWorkflow("bubbleClocks", func(ctx cruster.Context, url string) ([]time.Time, error) {
	start := time.Now()
	if err := cruster.Sleep(ctx, 36*time.Hour); err != nil {
		return nil, err
	}
	seen := []time.Time{start.UTC(), time.Now().UTC(), start.Add(time.Since(start)).UTC()}
	_, err := cruster.Go(ctx, func(cruster.Context) error {
		seen = append(seen, time.Now().UTC())
		return nil
	}).Await(ctx)
	other := make(chan time.Time)
	go func() { other <- time.Now().UTC() }()
	seen = append(seen, <-other)
	if err == nil && url != "" {
		_, err = fetchPage.Call(ctx, url)
	}
	if err == nil {
		var noted time.Time
		noted, err = note.On("mine").Call(ctx, cruster.None{})
		seen = append(seen, noted)
	}
	return seen, err
})

func clocksAfter(start time.Time) []time.Time {
	late := start.Add(36 * time.Hour)
	return []time.Time{start, late, late, late, late, late}
}

func requireTimes(t *testing.T, want, got []time.Time) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, want[i].Equal(got[i]), "%d: want %v, got %v", i, want[i], got[i])
	}
}

// The clock of the library is the execution's, also in a replay, although a handler of the test
// uses sockets.
func TestClock(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	start := time.Date(2031, time.March, 4, 5, 6, 7, 8, time.UTC)
	var h crustertest.History
	seen, err := crustertest.Run(t, clocks, server.URL, crustertest.StartTime(start), crustertest.Record(&h),
		crustertest.HandleHTTP(func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			res, err := server.Client().Get(r.URL)
			if err != nil {
				return cruster.HTTPResponse{}, err
			}
			return cruster.HTTPResponse{Status: res.StatusCode}, res.Body.Close()
		}))
	require.NoError(t, err)
	requireTimes(t, clocksAfter(start), seen)
	crustertest.Replay(t, &h)

	_, err = crustertest.Execute(clocks, "", crustertest.StartTime(time.Unix(0, 0)))
	require.Equal(t, "CR-4002", cruster.ErrorCode(err), "%v", err)
	require.ErrorContains(t, err, "which cannot show the workflow that it is 1970-01-01")
}

// In a bubble of the test the clock is the bubble's, and goes on with the execution.
func TestClockInBubble(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			start := time.Now().UTC().Round(0)
			seen, err := crustertest.Run(t, clocks, "", crustertest.Record(&h))
			require.NoError(t, err)
			requireTimes(t, clocksAfter(start), seen)
			require.Equal(t, 36*time.Hour, time.Since(start))
		}
		require.ErrorContains(t, h.Replay(), "a replay is made outside of it")
	})
	crustertest.Replay(t, &h)
}

var sleepyOperation = cruster.NewOperation(
	diary,
	"sleepy",
	func(*cruster.EntityContext, *[]time.Time, cruster.None) (int, error) {
		time.Sleep(time.Second) // line: operation
		return 0, nil
	},
)

var sleepy = cruster.NewWorkflow("bubbleSleepy", func(ctx cruster.Context, where string) (int, error) {
	switch where {
	case "operation":
		return sleepyOperation.On("mine").Call(ctx, cruster.None{})
	case "query":
		sleepyQuery.Handle(ctx, func(cruster.None) (int, error) {
			time.Sleep(time.Minute) // line: query
			return 0, nil
		})
		return 0, cruster.Sleep(ctx, time.Hour)
	case "timer":
		<-time.After(time.Second) // line: timer
	case "coroutine":
		_, err := cruster.Go(ctx, func(cruster.Context) error {
			time.Sleep(time.Second) // line: coroutine
			return nil
		}).Await(ctx)
		return 0, err
	}
	time.Sleep(time.Second) // line: workflow
	return 0, nil
}).Answers(sleepyQuery)

var sleepyQuery = cruster.NewQuery[cruster.None, int]("sleepy")

// Code that must not wait for the clock is refused, as by a host, which says where it is.
func TestBlockingSleep(t *testing.T) {
	t.Parallel()
	at := func(state, mark string) string {
		return `the module tried to block for \S+: goroutine \d+, in .*crustertest_test\.(init|glob)\S*, waits \(` +
			state + `\) at ` + lineOf(t, "bubble_test.go", mark) + `$`
	}
	for _, where := range []string{"workflow", "coroutine"} {
		_, err := crustertest.Run(t, sleepy, where)
		require.Regexp(t, "^CR-4010: "+at("sleep", where), err)
	}
	_, err := crustertest.Run(t, sleepy, "timer")
	require.Regexp(t, "^CR-4010: "+at("chan receive", "timer"), err)

	_, err = crustertest.Run(t, sleepy, "operation")
	require.Regexp(t, `CR-6007: operation "sleepy": `+at("sleep", "operation"), err)

	asked := 0
	_, err = crustertest.Run(
		t,
		sleepy,
		"query",
		crustertest.QueryAfter(time.Minute, sleepyQuery, cruster.None{}, func(_ int, err error) {
			asked++
			require.Regexp(t, "CR-4010: "+at("sleep", "query"), err)
		}),
	)
	require.NoError(t, err)
	require.Equal(t, 1, asked)

	synctest.Test(t, func(t *testing.T) {
		_, err := crustertest.Run(t, sleepy, "workflow")
		require.Regexp(t, "^CR-4010: "+at("sleep", "workflow"), err)
	})
}
