package budget

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestMachineMemory reads testdata/machine: trees of files, and the memory of such a machine.
func TestMachineMemory(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/machine", func(_ *testing.T, d *datadriven.TestData) string {
		root := fstest.MapFS{}
		var file *fstest.MapFile
		for line := range strings.Lines(d.Input) {
			if path, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), ":"); ok && strings.Contains(path, "/") {
				file = &fstest.MapFile{}
				root[path] = file
				continue
			}
			file.Data = append(file.Data, line...)
		}
		return fmt.Sprintln(machineMemory(root))
	})
	require.Positive(t, OfMachine())
}
