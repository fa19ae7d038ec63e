package cli

import "testing"

func TestEntityCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/entity")
}
