// Package hostile throws bad input at a real engine: uploads that are no
// modules, manifests that lie, guests that break every rule of the ABI, and
// callers who ask for nonsense. Whatever it is, the answer is an error with a
// code, nothing is stored that was refused, and the engine goes on.
//
// Start reading at engine_test.go. Modules that no compiler would make are put
// together in assemble_test.go; tests/guests/raw does what it is told.
package hostile
