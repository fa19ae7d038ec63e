// Package memory divides the memory of a host into shares ([Shares]), so that nothing waits for
// memory held by its own waiters, and admits uploads, connections, requests and answers to theirs.
//
// It imports host/budget and journal.
package memory
