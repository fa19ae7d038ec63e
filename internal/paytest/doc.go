// Package paytest is the payment service that the tests of the orders example use: a real HTTP
// server that keeps accounts, and performs requests under one idempotency key once.
//
// It imports nothing of Cruster. Start reading at service.go.
package paytest
