package crustertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	slow   = cruster.NewActivity("test.slow", func(_ *cruster.ActivityContext, n int) (int, error) { return n, nil })
	signal = cruster.NewDeferred[string]("signal")
	bell   = cruster.NewSignal[int]("bell")
)

// dueRequest lists the waits of a workflow, in the order in which they begin: "slow", "signal",
// "bell", or a duration.
type dueRequest []string

// dueOrder waits for several things at the same time, and returns the order in which they came.
var dueOrder = cruster.NewWorkflow("test.dueOrder", func(ctx cruster.Context, waits dueRequest) ([]string, error) {
	var order []string
	var all []cruster.Future[cruster.None]
	for _, what := range waits {
		all = append(all, cruster.Go(ctx, func(ctx cruster.Context) error {
			err := waitFor(ctx, what)
			order = append(order, what)
			return err
		}))
	}
	_, err := cruster.All(ctx, all...)
	return order, err
}).Accepts(bell, signal)

func waitFor(ctx cruster.Context, what string) error {
	switch what {
	case "slow":
		_, err := slow.Call(ctx, 1)
		return err
	case "signal":
		_, err := signal.Await(ctx)
		return err
	case "bell":
		_, err := bell.Receive(ctx)
		return err
	}
	d, err := time.ParseDuration(what)
	if err != nil {
		return err
	}
	return cruster.Sleep(ctx, d)
}

// TestDueOrder: ops are delivered in the order in which they become due, and ops due at the same
// time in the order in which they were issued. Work by the host is never ready at once.
func TestDueOrder(t *testing.T) {
	t.Parallel()
	aMinute := crustertest.Takes(slow, time.Minute)
	for name, c := range map[string]struct {
		waits   dueRequest
		options []crustertest.Option
		want    []string
	}{
		"timers": {dueRequest{"10s", "1s", "5s"}, nil, []string{"1s", "5s", "10s"}},
		"timers at the same time": {
			dueRequest{"2s", "1s", "1s", "2000ms"}, nil, []string{"1s", "1s", "2s", "2000ms"},
		},
		"an activity between two timers": {
			dueRequest{"2m", "slow", "59s"}, []crustertest.Option{aMinute}, []string{"59s", "slow", "2m"},
		},
		"an activity before a timer": {
			dueRequest{"slow", "1m"}, []crustertest.Option{aMinute}, []string{"slow", "1m"},
		},
		"an activity after a timer": {
			dueRequest{"1m", "slow"}, []crustertest.Option{aMinute}, []string{"1m", "slow"},
		},
		"an activity at once": {dueRequest{"slow", "0s"}, nil, []string{"0s", "slow"}},
		"a deferred between two timers": {
			dueRequest{"1m", "signal", "10s"}, resolved(30 * time.Second), []string{"10s", "signal", "1m"},
		},
		"a deferred before a timer": {
			dueRequest{"signal", "10s"}, resolved(10 * time.Second), []string{"signal", "10s"},
		},
		"a deferred after a timer": {
			dueRequest{"10s", "signal"}, resolved(10 * time.Second), []string{"10s", "signal"},
		},
		"a deferred that is already settled": {dueRequest{"0s", "signal"}, resolved(0), []string{"0s", "signal"}},
		"a signal between two timers": {
			dueRequest{"1m", "bell", "10s"}, rung(30 * time.Second), []string{"10s", "bell", "1m"},
		},
		"a signal before a timer": {
			dueRequest{"bell", "10s"}, rung(10 * time.Second), []string{"bell", "10s"},
		},
		"a signal after a timer": {
			dueRequest{"10s", "bell"}, rung(10 * time.Second), []string{"10s", "bell"},
		},
		"a signal that is already there": {
			dueRequest{"0s", "bell"}, []crustertest.Option{crustertest.Signal(bell, 1)}, []string{"0s", "bell"},
		},
		"a signal in front of what is due": {
			dueRequest{"bell", "0s"}, []crustertest.Option{crustertest.Signal(bell, 1)}, []string{"bell", "0s"},
		},
		"all while the host was down": {
			dueRequest{"10s", "slow", "1s", "bell", "signal", "2m"},
			append(
				append(resolved(5*time.Second), rung(6*time.Second)...), crustertest.Takes(slow, 7*time.Second),
				crustertest.Downtime(500*time.Millisecond, time.Minute),
			),
			// The client reaches the host when it is back.
			[]string{"1s", "slow", "10s", "bell", "signal", "2m"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h crustertest.History
			order, err := crustertest.Run(t, dueOrder, c.waits, append(c.options, crustertest.Record(&h))...)
			require.NoError(t, err)
			require.Equal(t, c.want, order)
			crustertest.Replay(t, &h)
		})
	}
}

func resolved(after time.Duration) []crustertest.Option {
	return []crustertest.Option{crustertest.ResolveAfter(after, signal, "now")}
}

func rung(after time.Duration) []crustertest.Option {
	return []crustertest.Option{crustertest.SignalAfter(after, bell, 1)}
}

// polled looks again and again, without any time passing.
var polled = cruster.NewWorkflow("test.polled", func(ctx cruster.Context, _ cruster.None) (int, error) {
	f, n := slow.Go(ctx, 1), 0
	for ; !f.Done(); n++ {
		if err := cruster.Sleep(ctx, 0); err != nil {
			return 0, err
		}
	}
	return n, nil
})

// Work by the host comes behind the other ops of its turn, and before the ops of later turns.
func TestPolling(t *testing.T) {
	t.Parallel()
	n, err := crustertest.Run(t, polled, cruster.None{})
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

var raced = cruster.NewWorkflow("test.raced", func(ctx cruster.Context, limit string) (string, error) {
	d, err := time.ParseDuration(limit)
	if err != nil {
		return "", err
	}
	return cruster.WithTimeout(ctx, d, cruster.Async(ctx, func(ctx cruster.Context) (string, error) {
		return "slept", cruster.Sleep(ctx, time.Second)
	}))
})

// TestDowntime: a timeout of ten seconds does not beat a sleep of one because the host was down, and the clock shows
// when the host was back.
func TestDowntime(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	slept, err := crustertest.Run(t, raced, "10s", crustertest.Downtime(0, time.Hour), crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(t, "slept", slept)
	require.Equal(t, time.Hour, h.Duration())

	_, err = crustertest.Run(t, raced, "500ms", crustertest.Downtime(0, time.Hour))
	require.ErrorContains(t, err, "timed out")
}

// TestInterruptAtTheSameTime: the wait for an interrupt is the first op of every workflow.
func TestInterruptAtTheSameTime(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, dueOrder, dueRequest{"10s"}, crustertest.InterruptAfter(10*time.Second, "stop"))
	require.Equal(t, string(abi.CodeInterrupted), cruster.ErrorCode(err))
}
