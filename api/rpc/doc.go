// Package rpc is the face of a host: the gRPC services of cruster.v1 and the
// HTTP endpoints for probes and metrics, as a thin layer over an engine.
//
// The services decode, check bounds, call the engine and encode; they decide
// nothing. What an engine must offer is [Engine]; package host has the one there
// is. Below here, api/cruster/v1 is the contract, api/payload turns JSON into
// msgpack and back, api/rpcerror carries errors through statuses. The package
// imports host, journal and abi.
//
// Start reading at server.go, then workflows.go.
package rpc
