package cli

import "testing"

func TestWorkflowUpdate(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_update")
}
