// Package wasm runs guest modules. It is the only package that imports the Wasm engine (wazero). Of Cruster it imports
// abi, host/timelimit and two packages below it: binary parses, validates and rewrites binaries without the engine, and
// symbolize says for error reports where in its source a guest was. It knows nothing of journals, executions or stores.
//
// # From a binary to an instance
//
// [Runtime.Compile] takes an untrusted binary. Package binary parses it, compares its imports,
// exports, tables and memory with the host's offer, and rewrites its code. Only then does the
// engine compile it, once per digest. [Module.Describe] fetches the manifest, [Module.Instantiate]
// makes an [Instance].
//
// # Images and pools
//
// A module initialises itself once. Its memory and globals are then the image that all its instances begin with
// (image.go), with random generators of their own (generators.go). An instance is made of a machine (machine.go), which
// is reset when the instance is closed, and waits in the module's pool (pool.go) for the next one.
//
// # World and Turn
//
// A [World] is the environment of one instance: the Cruster imports (imports.go) and a WASI preview 1 whose clock,
// random source, sleep and standard streams are the world's (wasi.go). Two instances of a module whose worlds give the
// same answers behave the same.
//
// A [Turn] is one call into the guest: [Instance.Start] or [Instance.Resume]. Between turns an instance holds no
// goroutine.
//
// # Failures
//
// A guest can harm only its own instance. An endless loop or endless recursion ends with the turn's
// context or with its fuel (fuel.go), memory ends at the limit, and every other crash ends as a
// [Trap] that explains itself in one sentence (trap.go). After a trap the instance is dead.
//
// Start reading at runtime.go, instance.go and turn.go.
package wasm
