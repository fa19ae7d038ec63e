package cli

import "testing"

func TestWorkflowLookCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_look")
}
