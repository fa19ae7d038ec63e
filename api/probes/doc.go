// Package probes serves the HTTP endpoints for operators: /healthz, /readyz and /metrics, and profiles if they are
// asked for. They have an address of their own, and no request changes anything.
//
// The package imports abi and nothing else of Cruster: readiness is a function that the caller passes in. Start reading
// at server.go.
package probes
