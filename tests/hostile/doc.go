// Package hostile gives bad input to a real engine: uploads that are not modules, manifests that are false, guests that
// break every rule of the ABI, and invalid requests. In each case the reply is an error with a code, the engine stores
// nothing of the refused input, and it goes on.
//
// Start reading at engine_test.go. assemble_test.go assembles modules that no compiler would produce; the guest
// tests/guests/raw runs scripts of the tests.
package hostile
