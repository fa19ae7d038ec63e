package cli

import "testing"

func TestWorkflowMove(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/workflow_move")
}
