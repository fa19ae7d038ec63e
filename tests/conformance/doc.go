// Package conformance holds one table of cases that run on every store, with
// and without eviction after each turn: the results must be the same. The
// workflows are those of tests/guests/conformance.
//
// Start reading at conformance_test.go, which runs the table; the cases stand in
// the files named after what they are about.
package conformance
