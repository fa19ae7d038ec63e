// Package watch tells the waiters for an execution that it has ended or paused: clients that wait for a result, and
// workflows that wait for another.
//
// A watcher costs no goroutine. The package imports journal and nothing else of Cruster.
package watch
