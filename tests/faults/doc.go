// Package faults holds the engine to its promises while the store fails it:
// commits that are refused, commits whose answer is lost, reads that break off,
// and callers that get in each other's way.
package faults
