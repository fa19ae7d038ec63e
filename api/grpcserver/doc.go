// Package grpcserver serves the contract cruster.v1 over gRPC: the module, workflow and deferred
// services, the standard health service, and the interceptors and metrics around every call.
//
// The services decode, check bounds, call the engine and encode; they decide nothing. Requests that
// take many calls of the engine are in rollout.go (to move all that is open) and check.go (a push
// that must fit). [Engine] has the rooms of an engine that they use, each by the methods that they
// call; package host has the one engine there is.
//
// The package imports api/convert, api/payload, api/rpcerror, the generated contract, host and journal for their types,
// and abi. It imports no other face of a host.
//
// Start reading at server.go, then workflows.go.
package grpcserver
