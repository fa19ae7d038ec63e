package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWorkflowFollowCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_follow")
}

// TestFollowSaysWhatIsWaitedFor looks at an execution to which nothing happens until it was looked
// at twice. An unchanged wait is reported once.
func TestFollowSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	fake := &fakeHost{looks: make(chan struct{}, 2)}
	addr := fake.start(t)
	var out, errs strings.Builder
	code := Run(t.Context(), Process{
		Args: []string{"workflow", "follow", "shop/Buy/waiting"}, LookupEnv: environment("CRUSTER_ADDR=" + addr),
		Stderr: &errs, Stdin: strings.NewReader(""), Stdout: &out, quiet: time.Nanosecond,
	})
	require.Zero(t, code, errs.String())
	require.Equal(t, "shop/Buy/waiting  run 0011223… is running\nshop/Buy/waiting  waits for sleep\n5\n", out.String())
}

// cancels ends a context when something is written.
type cancels struct {
	strings.Builder
	cancel context.CancelFunc
}

func (c *cancels) Write(p []byte) (int, error) {
	c.cancel()
	return c.Builder.Write(p)
}

// TestFollowCanBeStopped ends the command while it follows, again and again: which of two things that happen at once
// is seen first is a matter of luck.
func TestFollowCanBeStopped(t *testing.T) {
	t.Parallel()
	fake := &fakeHost{looks: make(chan struct{}, 2)}
	addr := fake.start(t)
	for range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		out := &cancels{cancel: cancel}
		var errs strings.Builder
		code := Run(ctx, Process{
			Args: []string{"workflow", "follow", "shop/Buy/waiting"}, LookupEnv: environment("CRUSTER_ADDR=" + addr),
			Stderr: &errs, Stdin: strings.NewReader(""), Stdout: out, quiet: time.Hour,
		})
		require.Equal(t, 130, code, errs.String())
		require.Equal(t, "shop/Buy/waiting  run 0011223… is running\n", out.String())
	}
}
