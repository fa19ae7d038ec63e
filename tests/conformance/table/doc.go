// Package table is the table of conformance cases, as data: the files in cases, one for each subject. Three runners
// read it: tests/conformance runs the cases on real hosts, tests/guests/conformance on the test kit of the Go SDK, and
// tests/guests/conformance/rust/tests on the Rust SDK's. So an expectation is written down once, and if it holds
// on a host, it holds in the tests of users.
//
// The package imports abi only. Start reading at case.go; value.go says how values that JSON lacks are written.
package table
