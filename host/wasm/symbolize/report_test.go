package symbolize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestReadReport reads crash reports of Go and Rust: the input is a guest's standard error, the
// output is the message of the trap.
func TestReadReport(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/report", func(t *testing.T, d *datadriven.TestData) string {
		var crash CrashLog
		for line := range strings.Lines(d.Input) {
			crash.Add([]byte(strings.TrimSuffix(line, "\n")))
		}
		report := crash.Report()
		return fmt.Sprintf("headline: %s\nwhere:%s\nwaits: %s\nout of memory: %t, in a library: %t\n",
			report.Headline, report.Where(), strings.Join(report.waits, "; "), report.OutOfMemory, report.InLibrary)
	})
}
