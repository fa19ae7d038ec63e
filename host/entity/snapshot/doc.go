// Package snapshot is the state of an entity as of its last commit, and the copy of it in memory.
package snapshot
