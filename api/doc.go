// Package api has no code of its own: it is the map of the faces of a host.
//
//	api/cruster/v1   the contract: .proto files and the code made from them
//	api/grpcserver   the gRPC services of the contract, over an engine
//	api/probes       HTTP endpoints for operators: probes and metrics
//	api/convert      messages of the contract from and to values of the engine
//	api/payload      JSON to msgpack and back
//	api/rpcerror     errors through gRPC statuses
//
// The faces (grpcserver, probes) do not import each other. Their shared code is in the rooms below
// them, and each declares its needs of an engine. Imports point down: cmd → {grpcserver, probes},
// and grpcserver → convert → {payload, rpcerror} → cruster/v1, and from grpcserver and convert to
// host.
//
// Start reading at api/cruster/v1/workflow.proto, then api/grpcserver/server.go.
package api
