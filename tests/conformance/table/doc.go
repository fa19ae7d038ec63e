// Package table is the table of conformance cases, as data: the files in cases, one for each subject. Three runners
// read it: tests/conformance runs the cases on real hosts, tests/guests/conformance on the test kit of the Go SDK, and
// tests/guests/conformance/rust/tests on that of the Rust SDK. So an expectation is written down once, and what holds
// on a host holds in the tests of users.
//
// The package imports abi only. Start reading at case.go; value.go says how values that JSON lacks are written.
package table
