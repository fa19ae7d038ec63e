// Package watch tells those who wait for an execution that it is over or paused: clients that wait for a result, and
// workflows that wait for another.
//
// A watcher costs no goroutine. The package imports journal and nothing else of Cruster.
package watch
