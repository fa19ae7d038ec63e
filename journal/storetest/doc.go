// Package storetest is the conformance suite of the store contract: every journal.Store passes [Run], and
// [RunDifferential] compares it step by step with the in-memory oracle. A store's own tests cover the features that
// only that store has. The suite has no tests of its own: every store runs it.
//
// It imports abi, journal and journal/memory. Start reading at harness.go.
package storetest
