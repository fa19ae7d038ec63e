// Package timer wakes executions at their time: one heap, one goroutine, one entry
// an execution. It imports journal for ids and times, and nothing else of Cruster.
//
// The heap holds the near times only; the store holds all of them, and
// host/maintenance scans it for those that come near ([Horizon]).
package timer
