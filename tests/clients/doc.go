// Package clients holds whole-system tests of the clients in Go and in other languages: their
// example programs, which the pages in docs show, run against the real host.
package clients
