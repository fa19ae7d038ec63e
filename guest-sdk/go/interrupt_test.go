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

var interruptible = cruster.NewWorkflow("test.interruptible", func(ctx cruster.Context, mode string) (string, error) {
	err := cruster.Sleep(ctx, time.Hour)
	if !errors.Is(err, cruster.ErrInterrupted) {
		return "slept", err
	}
	if !cruster.Interrupted(ctx) || cruster.Interrupted(cruster.Shield(ctx)) ||
		cruster.InterruptReason(ctx) != "enough" {
		return "", errors.New("the context does not say that it was interrupted")
	}
	if _, again := echo.Call(ctx, pair{A: 1}); !errors.Is(again, cruster.ErrInterrupted) {
		return "", fmt.Errorf("a step after the interrupt: %w", again)
	}
	cleaned, cleanup := echo.Call(cruster.Shield(ctx), pair{A: 2})
	if cleanup != nil {
		return "", cleanup
	}
	switch mode {
	case "finish":
		return fmt.Sprint("cleaned ", cleaned.A), nil
	case "fail":
		return "", errors.New("cleanup failed")
	}
	return "", fmt.Errorf("waiting: %w", err)
})

func TestInterrupt(t *testing.T) {
	t.Parallel()
	stop := crustertest.InterruptAfter(time.Minute, "enough")

	_, h, err := run(t, interruptible, "", stop)
	require.Equal(t, string(abi.CodeInterrupted), cruster.ErrorCode(err))
	require.ErrorIs(t, err, cruster.ErrInterrupted)
	require.ErrorContains(t, err, "enough")
	require.Equal(
		t, []string{"sleep 1h0m0s", "activity test.echo"}, h.Steps(), "the step after the interrupt was never issued",
	)
	require.Equal(t, time.Minute, h.Duration())
	require.Equal(t, crustertest.Canceled, h.Events[3].Type, "the sleep is cancelled")

	got, _, err := run(t, interruptible, "finish", stop)
	require.NoError(t, err)
	require.Equal(t, "cleaned 2", got)

	_, _, err = run(t, interruptible, "fail", stop)
	require.Equal(t, string(abi.CodeWorkflowFailed), cruster.ErrorCode(err))

	got, _, err = run(t, interruptible, "", crustertest.InterruptAfter(2*time.Hour, "too late"))
	require.NoError(t, err)
	require.Equal(t, "slept", got)
}

var interruptTree = cruster.NewWorkflow("test.interruptTree", func(ctx cruster.Context, _ int) ([]string, error) {
	var trace []string
	note := func(name string, err error) { trace = append(trace, fmt.Sprint(name, " ", err)) }
	shared := cruster.Timer(ctx, 2*time.Hour)
	shielded := cruster.Go(cruster.Shield(ctx), func(ctx cruster.Context) error {
		_, err := shared.Await(ctx)
		note("shielded", err)
		return err
	})
	plain := make([]cruster.Future[cruster.None], 3)
	for i := range plain {
		plain[i] = cruster.Go(ctx, func(ctx cruster.Context) error {
			_, err := shared.Await(ctx)
			note(fmt.Sprint(i), err)
			return err
		})
	}
	_, err := cruster.All(cruster.Shield(ctx), plain...)
	note("all", err)
	_, err = shielded.Await(cruster.Shield(ctx))
	note("main", err)
	return trace, nil
})

func TestInterruptEndsAllWaitsThatAreNotShielded(t *testing.T) {
	t.Parallel()
	trace, h, err := run(t, interruptTree, 0, crustertest.InterruptAfter(time.Minute, ""))
	require.NoError(t, err)
	asked := cruster.ErrInterrupted.Error()
	require.Equal(t, []string{
		"0 " + asked, "1 " + asked, "2 " + asked, "all " + asked, "shielded <nil>", "main <nil>",
	}, trace)
	require.Equal(
		t, 2*time.Hour, h.Duration(), "the shared timer goes on, because the shielded coroutine still waits for it",
	)
}

var settledBefore = cruster.NewWorkflow("test.settledBefore", func(ctx cruster.Context, _ int) (string, error) {
	done := echo.Go(ctx, pair{A: 3})
	pending := cruster.Timer(ctx, time.Hour)
	_ = cruster.Sleep(ctx, 2*time.Minute)
	p, err := done.Await(ctx)
	_, gone := pending.Await(ctx)
	return fmt.Sprint(p.A, err, gone), nil
})

func TestResultsBeforeAnInterruptStayReadable(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, settledBefore, 0, crustertest.InterruptAfter(time.Minute, ""))
	require.NoError(t, err)
	require.Equal(t, "3 <nil> "+cruster.ErrInterrupted.Error(), got)
}
