// Package abi is the contract between a Cruster host and a WebAssembly guest:
// the names of the imports and exports, the bodies that cross the boundary, the
// manifest a module describes itself with, and the table of error codes.
//
// ABI.md is the specification; the types here are its Go form, used by the host
// and by the Go guest SDK alike. The package knows nothing of hosts, stores or
// engines and imports nothing of Cruster; every other package may import it.
//
// Start reading at names.go (who calls what), then invocation.go and ops.go
// (what is said), canonical.go (why two languages produce the same bytes).
package abi
