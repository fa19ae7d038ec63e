// Package guest is the untyped core of the Go guest SDK: the registry of a module's definitions,
// the invocations that a host makes, and the deterministic dispatcher that runs the coroutines of a
// workflow.
//
// It uses neither WebAssembly nor generics. A [Host] is the other side of the boundary: the SDK's wasip1 files
// implement it with the imports of the ABI, crustertest implements it in memory. So a plain "go test" uses the same
// dispatcher that runs inside a module.
//
// Start reading at execution.go (a workflow from its start to its outcome), then coroutine.go (the
// order in which coroutines run) and promise.go (the waits of coroutines). The package imports abi,
// msgpack and the standard library.
package guest
