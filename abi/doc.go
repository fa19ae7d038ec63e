// Package abi is the contract between a Cruster host and a WebAssembly guest: the names of the imports and exports, the
// bodies that cross the boundary, the manifest a module describes itself with, and the table of error codes.
//
// ABI.md is the specification; the types here are its Go form, used by the host and by the Go guest SDK alike. The
// package does not depend on hosts, stores or engines: it imports no other package of Cruster, and every other package
// may import it.
//
// Start reading at names.go (the imports and exports), then invocation.go and ops.go (the bodies), canonical.go (why
// two languages produce the same hash) and codes.go (the error codes).
package abi
