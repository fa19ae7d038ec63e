package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWorkflowFollowCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_follow")
}

// TestFollowSaysWhatIsWaitedFor looks at an execution to which nothing happens until it was looked at
// twice. What has not changed is said once.
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
