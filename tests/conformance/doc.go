// Package conformance holds one table of cases that run in every language, on
// every store, with and without eviction after each turn. Results, errors and
// journals must be the same in all variants, byte for byte: see ledger. The
// workflows are those of tests/guests/conformance, which has a twin in each
// language; a module that holds only some of them runs the cases it can.
//
// Start reading at conformance_test.go, which runs the table; the cases stand in
// the files named after what they are about.
package conformance
