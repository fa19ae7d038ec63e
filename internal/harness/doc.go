// Package harness is what whole-system tests stand on: real modules, real
// stores, real engines, and the means to crash them. It imports everything and
// is imported by tests only.
package harness
