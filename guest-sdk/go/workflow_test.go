package cruster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
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
func run[Req, Res any](
	t *testing.T, wf *cruster.Workflow[Req, Res], req Req, opts ...crustertest.Option,
) (Res, crustertest.History, error) {
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
		"activity test.echo", "sleep 1h0m0s", "activity test.echo", "sleep 1h0m0s", "activity test.echo",
		"sleep 1h0m0s",
	}, h.Steps())
	require.Equal(t, 3*time.Hour, h.Duration())
	require.Equal(t, "interrupted", h.Events[0].Kind, "the wait for an interrupt is the first op")
}

var panicking = cruster.NewWorkflow("test.panicking", func(cruster.Context, int) (int, error) { panic("kaboom") })

func TestPanicInWorkflow(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, panicking, 0)
	require.Equal(t, string(abi.CodeGuestTrap), cruster.ErrorCode(err))
	require.ErrorContains(t, err, "kaboom")
	require.ErrorContains(t, err, "workflow_test.go")
}

func TestRegistrationPanics(t *testing.T) {
	t.Parallel()
	wf := func(cruster.Context, int) (int, error) { return 0, nil }
	act := func(*cruster.ActivityContext, int) (int, error) { return 0, nil }
	require.PanicsWithValue(t, `cruster: workflow name "9lives" must start with a letter`, func() {
		cruster.NewWorkflow("9lives", wf)
	})
	require.PanicsWithValue(t, `cruster: activity name "a b" may hold only letters, digits, '_', '-' and '.'`, func() {
		cruster.NewActivity("a b", act)
	})
	require.PanicsWithValue(t, `cruster: deferred name "" must have 1 to 128 bytes`, func() {
		cruster.NewDeferred[int]("")
	})
}
