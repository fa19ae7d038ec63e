// Package thirdlanguage compares the guest in C, modules/examples/greeter-c, with
// the page that it was written from, abi/ABI.md, and its vectors. It calls the guest
// as a host does, but without a host, so that it can check every byte.
//
// tests/conformance checks what the guest does on a real host.
package thirdlanguage
