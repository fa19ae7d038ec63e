package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	drawn   = cruster.NewUpdate[int, int]("withdraw").Validated()
	shut    = cruster.NewUpdate[cruster.None, string]("close")
	untaken = cruster.NewUpdate[int, int]("untaken") // by no workflow
)

var drained = cruster.NewWorkflow("example.drained", func(ctx cruster.Context, cents int) (int, error) {
	closed := false
	drawn.Handle(ctx,
		func(n int) error {
			if n > cents {
				return cruster.Errorf("poor", "there are %d cents", cents)
			}
			return nil
		},
		func(_ cruster.Context, n int) (int, error) {
			cents -= n
			return cents, nil
		})
	shut.Handle(ctx, func(cruster.Context, cruster.None) (string, error) {
		closed = true
		return "bye", nil
	})
	return cents, cruster.WaitUntil(ctx, func() bool { return closed })
}).Takes(drawn, shut)

func ExampleUpdate() {
	show := func(left int, err error) { fmt.Println(left, err) }
	_, err := crustertest.Execute(drained, 100,
		crustertest.Update(drawn, 30, show),
		crustertest.UpdateAfter(time.Hour, drawn, 300, show),
		crustertest.UpdateAfter(2*time.Hour, drawn, 70, show),
		crustertest.UpdateAfter(3*time.Hour, shut, cruster.None{}, func(text string, _ error) { fmt.Println(text) }))
	fmt.Println(err)
	// Output:
	// 70 <nil>
	// 0 CR-2039: there are 70 cents
	// 0 <nil>
	// bye
	// <nil>
}

type answered struct {
	name string
	code string
	at   time.Duration
}

// stages takes updates whose handlers come late, take time, fail and never end.
var stages = cruster.NewWorkflow("test.stages", func(ctx cruster.Context, _ cruster.None) ([]int, error) {
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return nil, err
	}
	var seen []int
	drawn.Handle(ctx, func(n int) error {
		if n == 0 {
			return errors.New("nothing")
		}
		return nil
	}, func(ctx cruster.Context, n int) (int, error) {
		seen = append(seen, n)
		if n < 0 {
			return 0, cruster.Errorf("negative", "%d", n)
		}
		return n, cruster.Sleep(ctx, time.Duration(n)*time.Second)
	})
	_, err := cruster.WithTimeout(ctx, time.Hour, cruster.When(ctx, func() bool { return len(seen) == 5 }))
	return seen, err
}).Takes(drawn)

func TestUpdatesOfAllKinds(t *testing.T) {
	t.Parallel()
	var got []answered
	var clock time.Duration
	note := func(name string) func(int, error) {
		return func(_ int, err error) { got = append(got, answered{name, cruster.ErrorCode(err), clock}) }
	}
	tick := func(d time.Duration) crustertest.Option {
		return crustertest.PublishedAfter(d, func(*crustertest.Published) { clock = d })
	}
	res, h, err := run(t, stages, cruster.None{},
		crustertest.Update(drawn, 2, note("before the start")),
		crustertest.Update(drawn, 0, note("refused late")),
		crustertest.UpdateAfter(time.Second, drawn, 1, note("before the handler")),
		crustertest.UpdateAfter(time.Second, untaken, 1, note("not taken")),
		tick(2*time.Minute),
		crustertest.UpdateAfter(2*time.Minute, drawn, 0, note("refused")),
		crustertest.UpdateAfter(2*time.Minute, drawn, -1, note("failed")),
		crustertest.UpdateAfter(2*time.Minute, drawn, 3600, note("unanswered")),
		tick(3*time.Minute),
		crustertest.UpdateAfter(3*time.Minute, drawn, 60, note("the last one")))
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, -1, 3600, 60}, res)
	require.Equal(t, []answered{
		{"not taken", "CR-2038", 0},
		{"refused late", "CR-2039", 0},
		{"before the handler", "", 0},
		{"before the start", "", 0},
		{"refused", "CR-2039", 2 * time.Minute},
		{"failed", "CR-2006", 2 * time.Minute},
		{"unanswered", "CR-2040", 3 * time.Minute},
		{"the last one", "CR-2040", 3 * time.Minute},
	}, got)
	crustertest.Replay(t, &h)
}

var misupdated = cruster.NewWorkflow("test.misupdated", func(ctx cruster.Context, _ cruster.None) (int, error) {
	untaken.Handle(ctx, func(cruster.Context, int) (int, error) { return 0, nil })
	return 0, nil
}).Takes(shut)

func TestAnUpdateThatIsNotDeclared(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, misupdated, cruster.None{})
	require.ErrorContains(
		t, err,
		"workflow test.misupdated does not take the update untaken: declare it where the workflow is made, with Takes",
	)
	require.PanicsWithValue(t, `cruster: workflow test.misupdated takes update "close" twice`, func() {
		misupdated.Takes(shut)
	})
}

var conditions = cruster.NewWorkflow("test.conditions", func(ctx cruster.Context, how string) ([]int, error) {
	n, order := 0, []int{}
	var all []cruster.Future[cruster.None]
	for _, want := range []int{2, 1, 2} {
		all = append(all, cruster.Go(ctx, func(ctx cruster.Context) error {
			err := cruster.WaitUntil(ctx, func() bool {
				switch {
				case how == "panics" && n == 1:
					panic("as it was told")
				case how == "calls" && n == 1:
					return cruster.Sleep(ctx, time.Second) == nil
				}
				return n >= want
			})
			order = append(order, want)
			return err
		}))
	}
	for range 2 {
		if how != "deadlock" {
			if err := cruster.Sleep(ctx, time.Second); err != nil {
				return nil, err
			}
			n++
		}
	}
	_, err := cruster.All(ctx, all...)
	return order, err
})

func TestConditions(t *testing.T) {
	t.Parallel()
	order, h, err := run(t, conditions, "")
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 2}, order)
	crustertest.Replay(t, &h)

	_, _, err = run(t, conditions, "panics")
	require.ErrorContains(t, err, "panic: as it was told")
	_, _, err = run(t, conditions, "calls")
	require.ErrorContains(t, err, "CR-4013")
	_, _, err = run(t, conditions, "deadlock")
	require.ErrorContains(t, err, "CR-4012")
	_, _, err = run(t, conditions, "", crustertest.InterruptAfter(time.Millisecond, "enough"))
	require.ErrorIs(t, err, cruster.ErrInterrupted)
}

var nudge = cruster.NewUpdate[cruster.None, cruster.None]("nudge")

// crossed has two coroutines that wait for each other, and takes updates.
var crossed = cruster.NewWorkflow("test.crossed", func(ctx cruster.Context, how string) (string, error) {
	nudged := false
	if how != "no handler" {
		nudge.Handle(ctx, func(cruster.Context, cruster.None) (cruster.None, error) {
			nudged = true
			return cruster.None{}, nil
		})
	}
	if how == "each other" {
		var futures [2]cruster.Future[cruster.None]
		for i := range futures {
			futures[i] = cruster.Go(ctx, func(ctx cruster.Context) error {
				_, err := futures[1-i].Await(ctx)
				return err
			})
		}
		_, err := cruster.All(ctx, futures[:]...)
		return "", err
	}
	return "nudged", cruster.WaitUntil(ctx, func() bool { return nudged })
}).Takes(nudge)

// TestAnUpdateThatCouldWakeNoOneEndsNoDeadlock: a wait that no update can end is a deadlock, and
// a wait that an update can end is none.
func TestAnUpdateThatCouldWakeNoOneEndsNoDeadlock(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"each other", "no handler"} {
		_, _, err := run(t, crossed, how)
		require.Equal(t, string(abi.CodeGuestDeadlock), cruster.ErrorCode(err), how)
	}
	got, _, err := run(
		t, crossed, "a condition",
		crustertest.UpdateAfter(time.Hour, nudge, cruster.None{}, func(_ cruster.None, err error) {
			require.NoError(t, err)
		}),
	)
	require.NoError(t, err)
	require.Equal(t, "nudged", got)
}
