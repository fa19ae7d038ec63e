package cruster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/stretchr/testify/require"
)

type pair struct {
	A int    `json:"a"`
	B string `json:"b"`
}

var (
	echo = cruster.NewActivity("test.echo", func(_ *cruster.ActivityContext, p pair) (pair, error) { return p, nil })

	flaky = cruster.NewActivity("test.flaky", func(ctx *cruster.ActivityContext, good int) (int, error) {
		if ctx.Attempt() < good {
			return 0, errors.New("not yet")
		}
		return ctx.Attempt(), nil
	}, cruster.Retries(3), cruster.ExponentialBackoff(time.Second))

	sequential = cruster.NewWorkflow("test.sequential", func(ctx cruster.Context, n int) (string, error) {
		var parts []string
		for i := range n {
			p, err := echo.Call(ctx, pair{A: i, B: "x"})
			if err != nil {
				return "", err
			}
			parts = append(parts, fmt.Sprint(p.A))
			if err := cruster.Sleep(ctx, time.Hour); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, ","), nil
	})

	retrying = cruster.NewWorkflow("test.retrying", func(ctx cruster.Context, good int) (int, error) {
		return flaky.Call(ctx, good)
	})
)

// run executes a workflow and then replays its history.
func run[Req, Res any](t *testing.T, wf *cruster.Workflow[Req, Res], req Req, opts ...crustertest.Option) (Res, crustertest.History, error) {
	t.Helper()
	var h crustertest.History
	res, err := crustertest.Run(t, wf, req, append(opts, crustertest.Record(&h))...)
	crustertest.Replay(t, &h)
	return res, h, err
}

func TestSequentialSteps(t *testing.T) {
	t.Parallel()
	res, h, err := run(t, sequential, 3)
	require.NoError(t, err)
	require.Equal(t, "0,1,2", res)
	require.Equal(t, []string{
		"activity test.echo", "sleep 1h0m0s", "activity test.echo", "sleep 1h0m0s", "activity test.echo", "sleep 1h0m0s",
	}, h.Steps())
	require.Equal(t, 3*time.Hour, h.Duration())
	require.Equal(t, "interrupted", h.Events[0].Kind, "the wait for an interrupt is the first op")
}

func TestRetries(t *testing.T) {
	t.Parallel()
	attempts, h, err := run(t, retrying, 3)
	require.NoError(t, err)
	require.Equal(t, 3, attempts)
	require.Equal(t, 3*time.Second, h.Duration(), "1 s and 2 s of backoff")

	_, h, err = run(t, retrying, 9)
	require.ErrorContains(t, err, "not yet")
	require.Equal(t, 7*time.Second, h.Duration(), "1 s, 2 s and 4 s of backoff")
}

func TestCallOptions(t *testing.T) {
	t.Parallel()
	_, h, err := run(t, optionsWorkflow, 0)
	require.NoError(t, err)
	var a abi.Activity
	require.NoError(t, abi.Unmarshal(h.Events[1].Body, &a))
	require.Equal(t, "order-42", a.Key)
	require.Equal(t, abi.Retry{Backoff: abi.BackoffConstant, Base: int64(time.Minute), Jitter: 0.5, Retries: 1}, a.Retry)
	require.Equal(t, int64(time.Second), a.Timeout)
}

var optionsWorkflow = cruster.NewWorkflow("test.options", func(ctx cruster.Context, _ int) (int, error) {
	return flaky.With(
		cruster.ActivityKey("order-42"), cruster.Retries(1), cruster.ConstantBackoff(time.Minute),
		cruster.Jitter(0.5), cruster.Timeout(time.Second),
	).Call(ctx, 1)
})

type account struct {
	Missing int64 `json:"missing"`
}

var (
	declined = cruster.NewActivity("test.declined", func(_ *cruster.ActivityContext, final bool) (int, error) {
		err := cruster.WithDetails(cruster.Errorf("card_declined", "card %d is declined", 7), account{Missing: 5})
		if final {
			return 0, fmt.Errorf("pay: %w", cruster.NonRetryable(err))
		}
		return 0, err
	}, cruster.Retries(2))

	failing = cruster.NewWorkflow("test.failing", func(ctx cruster.Context, final bool) (int, error) {
		n, err := declined.Call(ctx, final)
		var e *cruster.Error
		if !errors.As(err, &e) || e.Type != "card_declined" || cruster.ErrorType(err) != e.Type {
			return 0, errors.New("the error lost its type")
		}
		details, ok := cruster.Details[account](err)
		if !ok || details.Missing != 5 {
			return 0, errors.New("the error lost its details")
		}
		return n, err
	})
)

func TestTypedErrors(t *testing.T) {
	t.Parallel()
	for _, final := range []bool{true, false} {
		_, h, err := run(t, failing, final)
		require.Equal(t, string(abi.CodeWorkflowFailed), cruster.ErrorCode(err))
		require.Equal(t, "card_declined", cruster.ErrorType(err))
		require.ErrorContains(t, err, "card 7 is declined")
		details, ok := cruster.Details[account](err)
		require.True(t, ok)
		require.Equal(t, int64(5), details.Missing)
		require.Equal(t, final, h.Duration() == 0, "final errors are not retried")
	}
}

var crashing = cruster.NewActivity("test.crashing", func(_ *cruster.ActivityContext, n int) (int, error) {
	return 1 / n, nil
})

var callsCrashing = cruster.NewWorkflow("test.callsCrashing", func(ctx cruster.Context, n int) (int, error) {
	return crashing.Call(ctx, n)
})

func TestPanicInActivity(t *testing.T) {
	t.Parallel()
	_, h, err := run(t, callsCrashing, 0)
	require.ErrorContains(t, err, "workflow_test.go:")
	require.ErrorContains(t, err, "divide by zero")
	last := h.Events[len(h.Events)-1]
	require.Equal(t, abi.CodeActivityCrashed, last.Err.Code)
	require.True(t, last.Err.Retryable)
}

var panicking = cruster.NewWorkflow("test.panicking", func(cruster.Context, int) (int, error) { panic("kaboom") })

func TestPanicInWorkflow(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, panicking, 0)
	require.Equal(t, string(abi.CodeGuestTrap), cruster.ErrorCode(err))
	require.ErrorContains(t, err, "kaboom")
	require.ErrorContains(t, err, "workflow_test.go")
}

type facts struct {
	ID     string    `json:"id"`
	Now    time.Time `json:"now"`
	Later  time.Time `json:"later"`
	UUID   string    `json:"uuid"`
	Number int       `json:"number"`
}

var inspecting = cruster.NewWorkflow("test.inspecting", func(ctx cruster.Context, _ int) (facts, error) {
	f := facts{ID: cruster.ExecutionID(ctx), Now: cruster.Now(ctx), UUID: cruster.UUID(ctx), Number: cruster.Rand(ctx).IntN(1 << 30)}
	cruster.Logger(ctx).With("a", 1).WithGroup("g").Info("hello there", "b", "two words")
	err := cruster.SleepUntil(ctx, f.Now.Add(36*time.Hour))
	f.Later = cruster.Now(ctx)
	return f, err
})

func TestClockAndRandom(t *testing.T) {
	t.Parallel()
	start := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	a, _, err := run(t, inspecting, 0, crustertest.ExecutionID("d/w/k"), crustertest.StartTime(start))
	require.NoError(t, err)
	require.Equal(t, "d/w/k", a.ID)
	require.True(t, a.Now.Equal(start))
	require.True(t, a.Later.Equal(start.Add(36*time.Hour)))
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, a.UUID)

	b, _, err := run(t, inspecting, 0, crustertest.ExecutionID("d/w/k"))
	require.NoError(t, err)
	require.Equal(t, a.UUID, b.UUID, "random numbers depend only on the execution id")
	require.Equal(t, a.Number, b.Number)
	c, _, err := run(t, inspecting, 0, crustertest.ExecutionID("d/w/other"))
	require.NoError(t, err)
	require.NotEqual(t, a.UUID, c.UUID)
}

func TestEmptyContextIsRefused(t *testing.T) {
	t.Parallel()
	require.PanicsWithError(t, "CR-4002: Sleep was called with an empty cruster.Context: pass on the one that the workflow was given",
		func() { _ = cruster.Sleep(cruster.Context{}, time.Second) })
}

func TestRegistrationPanics(t *testing.T) {
	t.Parallel()
	wf := func(cruster.Context, int) (int, error) { return 0, nil }
	act := func(*cruster.ActivityContext, int) (int, error) { return 0, nil }
	require.PanicsWithValue(t, `cruster: workflow name "9lives" must start with a letter`, func() { cruster.NewWorkflow("9lives", wf) })
	require.PanicsWithValue(t, `cruster: activity name "a b" may hold only letters, digits, '_', '-' and '.'`, func() { cruster.NewActivity("a b", act) })
	require.PanicsWithValue(t, `cruster: deferred name "" must have 1 to 128 bytes`, func() { cruster.NewDeferred[int]("") })
	require.Panics(t, func() { cruster.NewActivity("x", act, cruster.ActivityKey("k")) })
	require.Panics(t, func() { cruster.Retries(-1) })
	require.Panics(t, func() { cruster.Jitter(1.5) })
	require.Panics(t, func() { cruster.Timeout(0) })
}
