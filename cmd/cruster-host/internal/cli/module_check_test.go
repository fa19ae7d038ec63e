package cli

import "testing"

func TestModuleCheck(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/module_check")
}
