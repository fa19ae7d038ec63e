// Package wasmtest assembles Wasm modules by hand, for tests of what compilers would not produce. It imports abi and
// nothing else of Cruster.
package wasmtest
