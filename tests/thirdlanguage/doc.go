// Package thirdlanguage holds the guest in C, modules/examples/greeter-c, against
// what it was written from: the page abi/ABI.md and its vectors. It speaks with the
// guest as a host does, without a host, so that every byte can be looked at.
//
// What the guest does under a real host is the matter of tests/conformance.
package thirdlanguage
