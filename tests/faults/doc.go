// Package faults checks that the engine keeps its promises while the store fails: commits that are refused, commits
// that are left in doubt, reads that fail, and callers that interfere with each other.
package faults
