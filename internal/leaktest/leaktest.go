// Package leaktest finds goroutines that the tests of a package have left.
//
//	func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
//
// It imports nothing of Cruster.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds the wait for goroutines that are about to end, of a closed connection for
// example.
const patience = 2 * time.Minute

// Main runs the tests of a package, and returns its exit code. Goroutines that the tests have left are a failure.
func Main(m *testing.M) int { return Check(m.Run()) }

// Check is the exit code of tests that have ended with one, once goroutines that they have left are a failure.
func Check(code int) int {
	if code != 0 {
		return code
	}
	if err := find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// find looks again until none is left. Goleak looks for half a second, in which a busy machine may
// have run none of them.
func find() (err error) {
	for begun := time.Now(); time.Since(begun) < patience; {
		if err = goleak.Find(); err == nil {
			return nil
		}
	}
	return err
}
