package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

type childRequest struct {
	Name string `json:"name"`
	Fail bool   `json:"fail"`
}

var (
	child = cruster.NewWorkflow("test.child", func(ctx cruster.Context, r childRequest) (string, error) {
		if r.Fail {
			return "", cruster.Errorf("broken", "%s broke", r.Name)
		}
		if err := cruster.Sleep(ctx, time.Minute); err != nil {
			return "", err
		}
		return "hello " + r.Name + " from " + cruster.ExecutionID(ctx), nil
	}, cruster.RawKey(func(r childRequest) string { return r.Name }))

	parent = cruster.NewWorkflow("test.parent", func(ctx cruster.Context, _ int) ([]string, error) {
		var got []string
		client := child.Client()
		id, err := client.Start(ctx, childRequest{Name: "ada"})
		if err != nil {
			return nil, err
		}
		status, err := client.Poll(ctx, id)
		got = append(got, id, fmt.Sprint(status.State, status.Done, err))
		hello, err := client.Execute(ctx, childRequest{Name: "ada"})
		got = append(got, fmt.Sprint(hello, err))
		status, err = client.Poll(ctx, id)
		got = append(got, fmt.Sprint(status.State, status.Done, status.Result == hello, err))

		other := client.WithKeyRaw("other").Go(ctx, childRequest{Name: "ada"})
		hashed := client.WithKey("other").Go(ctx, childRequest{Name: "ada"})
		greetings, err := cruster.All(ctx, other, hashed)
		got = append(
			got, greetings[0],
			fmt.Sprint(greetings[1] == "hello ada from test/test.child/"+hash.OfString("other"), err),
		)

		_, err = client.Execute(ctx, childRequest{Name: "bob", Fail: true})
		got = append(got, cruster.ErrorType(err), cruster.ErrorCode(err))
		remote := cruster.RemoteWorkflow[int, int]("billing/Double")
		n, err := remote.Execute(ctx, 21)
		got = append(got, fmt.Sprint(n, err))
		_, err = cruster.RemoteWorkflow[int, int]("nowhere/Nothing").Execute(ctx, 1)
		got = append(got, cruster.ErrorCode(err))
		_, err = client.Poll(ctx, "test/test.child/missing")
		return append(got, cruster.ErrorCode(err)), nil
	})
)

func TestChildWorkflows(t *testing.T) {
	t.Parallel()
	got, h, err := run(
		t, parent, 0, crustertest.StubWorkflow("billing/Double", func(n int) (int, error) { return 2 * n, nil }),
	)
	require.NoError(t, err)
	require.Equal(t, []string{
		"test/test.child/ada", "runningfalse <nil>",
		"hello ada from test/test.child/ada<nil>", "completedtrue true <nil>",
		"hello ada from test/test.child/other", "true <nil>",
		"broken", string(abi.CodeWorkflowFailed),
		"42 <nil>", string(abi.CodeDeploymentNotFound), string(abi.CodeExecutionNotFound),
	}, got)
	require.Equal(t, 2*time.Minute, h.Duration())
}

var selfCalling = cruster.NewWorkflow("test.selfCalling", func(ctx cruster.Context, n int) (int, error) {
	return cruster.RemoteWorkflow[int, int]("test.selfCalling").Execute(ctx, n)
})

func TestCallToItself(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, selfCalling, 1)
	require.ErrorContains(t, err, string(abi.CodeCallToItself))
}

var walk = cruster.NewWorkflow("test.walk", func(ctx cruster.Context, depth int) (int, error) {
	if depth == 0 {
		return 0, nil
	}
	below, err := cruster.RemoteWorkflow[int, int]("test.walk").Execute(ctx, depth-1)
	return below + depth, err
})

// A workflow calls other runs of itself by its name: it cannot refer to its own variable.
func TestCallOfOthersOfItsKind(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, walk, 4)
	require.NoError(t, err)
	require.Equal(t, 10, got)
}

var (
	sweepUp = cruster.NewActivity("test.sweepUp", func(_ *cruster.ActivityContext, name string) (string, error) {
		return name, nil
	})

	slowly = cruster.NewWorkflow("test.slowly", func(ctx cruster.Context, name string) (string, error) {
		err := cruster.Sleep(ctx, time.Hour)
		if err != nil {
			_, _ = sweepUp.Call(cruster.Shield(ctx), name)
		}
		return name, err
	}, cruster.RawKey(func(name string) string { return name }))

	givingUp = cruster.NewWorkflow("test.givingUp", func(ctx cruster.Context, how string) (string, error) {
		client := slowly.Client()
		if how == "interrupt" {
			id, err := client.Start(ctx, "other")
			if err != nil {
				return "", err
			}
			if err := client.Interrupt(ctx, id, "enough"); err != nil {
				return "", err
			}
			_, err = client.Execute(ctx, "other")
			again := client.Interrupt(ctx, id, "once more")
			missing := client.Interrupt(ctx, "test/test.slowly/none", "")
			over, _ := child.Client().Start(ctx, childRequest{Name: "x", Fail: true})
			_ = cruster.Sleep(ctx, time.Second)
			late := child.Client().Interrupt(ctx, over, "")
			return fmt.Sprint(cruster.ErrorCode(err), again, cruster.ErrorCode(missing), cruster.ErrorCode(late)), nil
		}
		part, cancel := cruster.WithCancel(ctx)
		stopped := client.Go(part, "stopped")
		left := client.OnCancel(cruster.AbandonChild).Go(part, "left")
		killed := client.OnCancel(cruster.TerminateChild).Go(part, "killed")
		_ = cruster.Sleep(ctx, time.Minute)
		if how == "end" {
			return "", nil
		}
		cancel()
		_, err := cruster.All(ctx, stopped, left, killed)
		if err == nil {
			return "", errors.New("the calls were not cancelled")
		}
		_ = cruster.Sleep(ctx, time.Minute)
		var states []string
		for _, name := range []string{"stopped", "left", "killed"} {
			status, err := client.Poll(ctx, "test/test.slowly/"+name)
			if err != nil {
				return "", err
			}
			states = append(states, status.State+cruster.ErrorCode(status.Err))
		}
		return fmt.Sprint(states), nil
	})
)

func TestGivenUpCalls(t *testing.T) {
	t.Parallel()
	cleaned := func() (crustertest.Option, *[]string) {
		var names []string
		return crustertest.Stub(sweepUp, func(_ *cruster.ActivityContext, name string) (string, error) {
			names = append(names, name)
			return name, nil
		}), &names
	}
	stub, names := cleaned()
	got, _, err := run(t, givingUp, "cancel", stub)
	require.NoError(t, err)
	require.Equal(
		t, "[interrupted"+string(abi.CodeInterrupted)+" running interrupted"+string(abi.CodeTerminated)+"]", got,
	)
	require.Equal(t, []string{"stopped"}, *names)

	stub, names = cleaned()
	_, _, err = run(t, givingUp, "end", stub)
	require.NoError(t, err)
	require.Equal(t, []string{"stopped"}, *names, "it cleans up after its caller has ended")

	stub, names = cleaned()
	_, _, err = run(t, givingUp, "interrupted", stub, crustertest.InterruptAfter(time.Second, "enough"))
	require.ErrorIs(t, err, cruster.ErrInterrupted)
	require.Equal(t, []string{"stopped"}, *names)

	stub, names = cleaned()
	got, _, err = run(t, givingUp, "interrupt", stub)
	require.NoError(t, err)
	require.Equal(
		t, fmt.Sprint(string(abi.CodeInterrupted), nil, string(abi.CodeExecutionNotFound), string(abi.CodeAlreadyOver)),
		got,
	)
	require.Equal(t, []string{"other"}, *names)
}
