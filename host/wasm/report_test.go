package wasm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestReadReport reads crash reports of Go and Rust: the input is what a guest
// wrote to standard error, the output is what a trap says about it.
func TestReadReport(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/report", func(t *testing.T, d *datadriven.TestData) string {
		var crash crashLog
		w := lineWriter{emit: crash.add, check: func() {}}
		fmt.Fprint(&w, d.Input)
		w.flush()
		report := readReport(crash.report)
		return fmt.Sprintf("headline: %s\nwhere:%s\nwaits: %s\nout of memory: %t, in a library: %t\n",
			report.headline, report.where(), strings.Join(report.waits, "; "), report.outOfMemory, report.inLibrary)
	})
}
