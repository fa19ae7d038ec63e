// Package harness is the base of the whole-system tests: real modules, real stores, real engines, and functions to
// crash them. It may import every package; only tests import it. Start reading at engine.go.
package harness
