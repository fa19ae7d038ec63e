package cli

import "testing"

func TestModuleCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/module")
}
