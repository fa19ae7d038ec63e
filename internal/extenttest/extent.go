// Package extenttest says how much tests try. Plain `go test` and `make test` try pairs of
// settings: each value of one setting, such as a language, meets each value of every other one, such as
// a store or a mode, at least once. With CRUSTER_TEST_EXTENT=full, as `make prove` runs them, tests
// try every combination, and loads have their full size.
//
// Faults seldom need three settings to meet, and combinations of three and more cost several times as much. The package
// imports nothing of Cruster. Start reading at pairs.go.
package extenttest

import (
	"fmt"
	"os"
)

// Full tells whether tests run in full.
func Full() bool {
	switch extent := os.Getenv("CRUSTER_TEST_EXTENT"); extent {
	case "":
		return false
	case "full":
		return true
	default:
		panic(fmt.Sprintf("CRUSTER_TEST_EXTENT is %q; it may be full, or not set", extent))
	}
}

// Sized is the size of a load: in full, or the usual one.
func Sized(full, usual int) int {
	if Full() {
		return full
	}
	return usual
}
