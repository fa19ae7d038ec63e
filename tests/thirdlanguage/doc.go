// Package thirdlanguage proves that abi/ABI.md is enough to write an SDK in a third language: sdk is one in C, written
// from that page alone. The tests compare two guests with the page and its vectors: conformance, with the workflows of
// the suite of that name, and codec. They call the guests as a host does, but without a host, to check every byte.
//
// tests/conformance runs the workflows of the first on a real host.
package thirdlanguage
