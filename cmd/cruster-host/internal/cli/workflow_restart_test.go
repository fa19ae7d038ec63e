package cli

import "testing"

func TestWorkflowRestart(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_restart")
}
