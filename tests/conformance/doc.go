// Package conformance is one table of cases that run in every language, on every store, with and without eviction after
// each turn. Results, errors and journals must be the same in all variants, byte for byte: see ledger. The workflows
// are in tests/guests/conformance, which exists in each language; a module that has only some of them runs only
// their cases. The same cases run on the test kits of the SDKs, in tests/guests/conformance.
//
// Start reading at conformance_test.go, which runs the table; the cases are data, in table/cases.
package conformance
