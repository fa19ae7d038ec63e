package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestOutside: what an activity cannot do because it is in a sandbox fails with a code that says
// what to do instead.
func TestOutside(t *testing.T) {
	t.Parallel()
	e := harness.Engine(t, harness.Store(t, "sqlite"))
	harness.Push(t, e, "outside", "tests/guests/outside")
	for what, code := range map[string]abi.Code{
		"http by address":        abi.CodeNoSockets,
		"dial":                   abi.CodeNoSockets,
		"read a file":            abi.CodeNoFiles,
		"write a file":           abi.CodeNoFiles,
		"make a temporary file":  abi.CodeNoFiles,
		"run a program":          abi.CodeNoPrograms,
		"time zone":              abi.CodeNoZones,
		"an error of a business": abi.CodeWorkflowFailed,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			row := harness.Wait(t, e, harness.Start(t, e, "outside/Try", what))
			require.Equal(t, journal.Failed, row.State)
			if code == abi.CodeWorkflowFailed {
				require.Equal(t, "CR-2006: the shop is closed", row.Error.Error())
				return
			}
			require.Contains(t, row.Error.Message, code, "by which the code and its advice are shown")
		})
	}
}
