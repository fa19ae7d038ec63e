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

var approved = cruster.NewDeferred[string]("approved")

var fromInside = cruster.NewWorkflow("test.fromInside", func(ctx cruster.Context, _ int) (string, error) {
	answer := cruster.NewDeferred[pair]("answer")
	waiting := answer.Future(ctx)
	first, err := answer.Resolve(ctx, pair{A: 1, B: "one"})
	if err != nil {
		return "", err
	}
	second, err := answer.Reject(ctx, errors.New("too late"))
	if err != nil {
		return "", err
	}
	early, err := waiting.Await(ctx)
	if err != nil {
		return "", err
	}
	late, err := answer.Await(ctx)
	return fmt.Sprint(first, second, early, late), err
})

func TestDeferredFromInside(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, fromInside, 0)
	require.NoError(t, err)
	require.Equal(t, "true false {1 one} {1 one}", got)
}

var awaiting = cruster.NewWorkflow("test.awaiting", func(ctx cruster.Context, before time.Duration) (string, error) {
	if err := cruster.Sleep(ctx, before); err != nil {
		return "", err
	}
	return approved.Await(ctx)
})

func TestDeferredFromOutside(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{time.Second, time.Hour} {
		got, _, err := run(t, awaiting, before,
			crustertest.ResolveAfter(time.Minute, approved, "first"), crustertest.ResolveAfter(2*time.Minute, approved, "second"))
		require.NoError(t, err)
		require.Equal(t, "first", got, "the first settlement stands")
	}
	_, _, err := run(t, awaiting, 0, crustertest.RejectAfter(time.Minute, approved, cruster.Errorf("denied", "not allowed")))
	require.Equal(t, "denied", cruster.ErrorType(err))
	require.ErrorContains(t, err, "not allowed")

	_, err = crustertest.Run(t, awaiting, time.Second)
	require.ErrorContains(t, err, "waits for deferred approved")
}

// resolvingElsewhere resolves a deferred of another execution.
var resolvingElsewhere = cruster.NewWorkflow("test.resolvingElsewhere", func(ctx cruster.Context, _ int) (string, error) {
	id, err := awaiting.Client().Start(ctx, time.Second)
	if err != nil {
		return "", err
	}
	if _, err := approved.ResolveIn(ctx, id, "from another"); err != nil {
		return "", err
	}
	_, missing := approved.ResolveIn(ctx, "test/missing/x", "")
	got, err := awaiting.Client().Execute(ctx, time.Second)
	return got + " " + cruster.ErrorCode(missing), err
})

func TestDeferredOfAnotherExecution(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, resolvingElsewhere, 0)
	require.NoError(t, err)
	require.Equal(t, "from another "+string(abi.CodeExecutionNotFound), got)
}
