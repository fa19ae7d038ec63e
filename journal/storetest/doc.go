// Package storetest is the conformance suite of the store contract: every
// journal.Store passes [Run], and [RunDifferential] holds it step by step
// against the in-memory oracle. A store's own tests are left with what only it
// has.
//
// It imports abi, journal and journal/memory. Start reading at harness.go.
package storetest
