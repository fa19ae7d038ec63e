// Package paytest is the payment service that the tests of the orders example use:
// a real HTTP server that keeps accounts, and does what was asked for under one
// idempotency key once.
//
// It imports nothing of Cruster. Start reading at service.go.
package paytest
