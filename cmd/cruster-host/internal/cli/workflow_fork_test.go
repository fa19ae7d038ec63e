package cli

import "testing"

func TestWorkflowFork(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_fork")
}
