package cli

import "testing"

func TestDeferredCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/deferred")
}
