// Package guest is the untyped core of the Go guest SDK: the registry of what a
// module contains, the invocations a host makes, and the deterministic
// dispatcher that workflow coroutines run on.
//
// It knows neither WebAssembly nor generics. A [Host] stands for the other side
// of the boundary: the SDK's wasip1 files implement it over the imports of the
// ABI, crustertest implements it in memory. So what a plain "go test" exercises
// is the very dispatcher that runs inside a module.
//
// Start reading at execution.go (a workflow from its start to its outcome),
// then coroutine.go (who runs when) and promise.go (what coroutines wait for).
// The package imports abi and the standard library only.
package guest
