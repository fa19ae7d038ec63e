package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestCutSweep: each line of the input is a journal, as entries and bytes.
func TestCutSweep(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/sweep", func(t *testing.T, d *datadriven.TestData) string {
		var sizes []journal.SweepSize
		for line := range strings.Lines(d.Input) {
			var size journal.SweepSize
			_, err := fmt.Sscan(line, &size.Entries, &size.Bytes)
			require.NoError(t, err)
			sizes = append(sizes, size)
		}
		whole, entries := journal.CutSweep(sizes)
		return fmt.Sprintf("%d whole, %d entries of the first\n", whole, entries)
	})
}
