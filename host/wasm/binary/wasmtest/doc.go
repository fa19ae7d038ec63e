// Package wasmtest assembles Wasm modules by hand, for tests of code that compilers would not produce. It imports abi
// and nothing else of Cruster.
package wasmtest
