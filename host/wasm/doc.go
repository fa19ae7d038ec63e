// Package wasm runs guest modules. It is the only package that imports the
// Wasm engine (wazero), and of Cruster it imports only abi: it knows nothing of
// journals, executions or stores.
//
// # The way of a module
//
// [Runtime.Compile] takes a binary that nobody vouches for. It reads the
// sections (layout.go, reader.go), holds imports, exports, tables and memory
// against what the host offers (validate.go), hardens the code (rewrite.go,
// segments.go) and only then lets the engine compile it, once per digest. [Module.Describe]
// fetches the manifest, [Module.Instantiate] makes an [Instance].
//
// # The way of a turn
//
// An instance sees the outside through its [World] and nothing else: the Cruster
// imports (imports.go) and a WASI preview 1 whose clock, random source, sleep
// and standard streams are the world's (wasi.go). Two instances of a module
// whose worlds give the same answers behave the same. [Instance.Start] and
// [Instance.Resume] are the turns; between turns an instance holds no goroutine.
//
// # What goes wrong
//
// Whatever a guest does costs that instance and nothing else: an endless loop or
// endless recursion ends with the turn's context, memory ends at the limit, and
// every other crash ends as a [Trap] that says in one sentence what happened
// (trap.go). After a trap the instance is dead.
//
// Start reading at runtime.go and instance.go.
package wasm
