package cli

import "testing"

func TestWorkflowCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow")
}
