package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// cancels cancels a part of its work, and tells the order of the calls that noticed.
var cancels = cruster.NewWorkflow("test.cancels", func(ctx cruster.Context, _ int) ([]string, error) {
	var trace []string
	note := func(name string, err error) { trace = append(trace, fmt.Sprint(name, ": ", err)) }
	part, cancel := cruster.WithCancel(ctx)
	outside := cruster.Timer(ctx, time.Hour)
	unawaited := cruster.Timer(part, 2*time.Hour)
	cleaned := cruster.Go(part, func(ctx cruster.Context) error {
		inner, stop := cruster.WithCancel(ctx)
		defer stop()
		note("waits inside", cruster.Sleep(inner, 3*time.Hour))
		note("cleans up", cruster.Sleep(cruster.Shield(ctx), time.Minute))
		return nil
	})
	borrower := cruster.Go(part, func(ctx cruster.Context) error {
		_, err := outside.Await(ctx)
		note("waits for what is outside", err)
		return err
	})
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	cancel()
	cancel()
	note("is told", cruster.Err(part))
	note("is not cancelled", cruster.Err(ctx))
	note("begins later", cruster.Sleep(part, time.Second))
	_, err := unawaited.Await(ctx)
	note("was not awaited", err)
	_, err = borrower.Await(ctx)
	note("borrower ends", err)
	_, err = cleaned.Await(ctx)
	note("cleaner ends", err)
	_, err = outside.Await(ctx)
	note("outside", err)
	return trace, nil
})

func TestWithCancel(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, cancels, 0)
	require.NoError(t, err)
	require.Equal(t, []string{
		"is told: it was cancelled", "is not cancelled: <nil>", "begins later: it was cancelled",
		"was not awaited: it was cancelled",
		"waits inside: it was cancelled", "waits for what is outside: it was cancelled",
		"borrower ends: it was cancelled", "cleans up: <nil>", "cleaner ends: <nil>", "outside: <nil>",
	}, got)
	require.Equal(t, time.Hour, h.Duration(), "what is outside of the part goes on")
	require.Equal(t, []string{"sleep 1h0m0s", "sleep 2h0m0s", "sleep 1s", "sleep 3h0m0s", "sleep 1m0s"}, h.Steps())
}

// An interrupt reaches into every part, and is not mistaken for a cancellation.
var interruptedPart = cruster.NewWorkflow("test.interruptedPart", func(ctx cruster.Context, _ int) (string, error) {
	part, cancel := cruster.WithCancel(ctx)
	err := cruster.Sleep(part, time.Hour)
	cancel()
	return fmt.Sprint(err, "; ", cruster.Err(part), "; ", cruster.Interrupted(part)), nil
})

func TestInterruptOfAPart(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, interruptedPart, 0, crustertest.InterruptAfter(time.Minute, "enough"))
	require.NoError(t, err)
	require.Equal(t, "the execution was asked to stop; the execution was asked to stop; true", got)
}

// Work begun outside of a cancelled part is not touched by a wait in it, also if an interrupt comes
// after that.
var borrowed = cruster.NewWorkflow("test.borrowed", func(ctx cruster.Context, _ int) (string, error) {
	outside := cruster.Timer(cruster.Shield(ctx), time.Hour)
	part, cancel := cruster.WithCancel(ctx)
	cancel()
	if err := cruster.Sleep(ctx, 30*time.Minute); !errors.Is(err, cruster.ErrInterrupted) {
		return "", err
	}
	_, inPart := outside.Await(part)
	_, err := outside.Await(cruster.Shield(ctx))
	return fmt.Sprint(inPart, "; ", err), nil
})

func TestInterruptAfterAPartWasGivenUp(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, borrowed, 0, crustertest.InterruptAfter(time.Minute, "enough"))
	require.NoError(t, err)
	require.Equal(t, "it was cancelled; <nil>", got)
	require.Equal(t, time.Hour, h.Duration())
}

var deadlines = cruster.NewWorkflow("test.deadlines", func(ctx cruster.Context, work time.Duration) (string, error) {
	part, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Minute))
	err := cruster.Sleep(part, work)
	cancel()
	return fmt.Sprint(err), cruster.Sleep(ctx, time.Second)
})

// A deadline in the past has passed.
var late = cruster.NewWorkflow("test.late", func(ctx cruster.Context, _ int) (int, error) {
	past, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx))
	defer cancel()
	if err := cruster.Sleep(past, 0); !errors.Is(err, cruster.ErrTimeout) ||
		!errors.Is(cruster.Err(past), cruster.ErrTimeout) {
		return 0, fmt.Errorf("a deadline in the past: %w", err)
	}
	return 0, nil
})

// An interrupt that came first ends a part, also when its time is up later.
var interruptedInTime = cruster.NewWorkflow("test.interruptedInTime", func(ctx cruster.Context, _ int) (int, error) {
	part, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(10*time.Minute))
	defer cancel()
	if err := cruster.Sleep(part, time.Hour); !errors.Is(err, cruster.ErrInterrupted) {
		return 0, err
	}
	if err := cruster.Sleep(cruster.Shield(part), 30*time.Minute); err != nil {
		return 0, err
	}
	return 0, cruster.Sleep(part, time.Second)
})

func TestInterruptBeforeADeadline(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, interruptedInTime, 0, crustertest.InterruptAfter(time.Minute, "enough"))
	require.ErrorIs(t, err, cruster.ErrInterrupted)
}

func TestWithDeadline(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, late, 0)
	require.NoError(t, err)
	for work, want := range map[time.Duration]string{time.Second: "<nil>", time.Hour: "timed out"} {
		got, h, err := run(t, deadlines, work)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, min(work, time.Minute)+time.Second, h.Duration(), "no timer is left over")
	}
}

// A coroutine that is cancelled is waited for.
var cancelledCoroutine = cruster.NewWorkflow(
	"test.cancelledCoroutine",
	func(ctx cruster.Context, _ int) (string, error) {
		worker := cruster.Async(ctx, func(ctx cruster.Context) (string, error) {
			err := cruster.Sleep(ctx, time.Hour)
			if errors.Is(err, cruster.ErrCanceled) {
				return "gave up", cruster.Sleep(cruster.Shield(ctx), time.Minute)
			}
			return "worked", err
		})
		if err := cruster.Sleep(ctx, time.Second); err != nil {
			return "", err
		}
		worker.Cancel(ctx)
		return worker.Await(ctx)
	},
)

func TestCancelCoroutine(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, cancelledCoroutine, 0)
	require.NoError(t, err)
	require.Equal(t, "gave up", got)
	require.Equal(t, time.Second+time.Minute, h.Duration())
}
