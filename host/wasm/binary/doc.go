// Package binary reads, validates and rewrites Wasm binaries. It works on bytes alone: it does not know the Wasm
// engine, and of Cruster it imports only abi.
//
// # The steps
//
// [Parse] reads the sections of an untrusted upload into a [Module]. [Module.Validate] compares its
// imports, exports, tables and memory with the host's offer. [Module.Rewrite] returns the binary
// that the engine compiles. Each step refuses with an *abi.Error. None of them checks that the code
// is well typed: the engine does that afterwards.
//
// # Where things are
//
// Reading: format.go names the constants of the binary format, reader.go reads its primitives, entries.go the entries
// of sections and instructions.go the operands of instructions. parse.go puts them together.
//
// Rewriting: rewrite.go walks over the sections. Each change is a file and a function from the
// content of a section to its new content: names.go drops custom sections, tables.go bounds tables,
// segments.go merges data segments, and code.go changes functions, as scan.go has planned it.
// fuel.go says why and how code counts its work: cost.go has the costs, regions.go divides
// functions into regions, goblocks.go says where in a function of Go they are, ranges.go has the
// functions for long ranges, additions.go all other additions. nans.go replaces NaNs.
//
// Taking apart: template.go makes of a rewritten binary one whose instances have no state that the host cannot read and
// set; hidden.go looks for code that would.
//
// Looking: sizes.go finds the large parts of a binary; gofunctions.go reads the names of functions out of the table
// that Go's runtime has.
//
// Every count and every length of an upload is compared with the bytes that are there before anything is allocated for
// it. Package wasmtest assembles modules for tests.
//
// Start reading at parse.go and rewrite.go.
package binary
