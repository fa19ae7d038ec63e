package cli

import "testing"

func TestWorkflowFollowCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_follow")
}
