package harness

import (
	"os"
	"testing"
)

// Short tells whether a package with a short form is to run that: with -short, or with
// CRUSTER_TEST_SHORT=1, which scripts/test.sh sets under the race detector. It does not
// set -short, because libraries ask for that as well: rapid would draw a fifth of its cases
// in all packages.
func Short() bool { return testing.Short() || os.Getenv("CRUSTER_TEST_SHORT") == "1" }
