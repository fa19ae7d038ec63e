package cli

import "testing"

func TestWorkflowSteerCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_steer")
}
