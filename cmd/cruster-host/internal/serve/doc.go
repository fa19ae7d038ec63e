// Package serve runs a host: it opens the store, starts the engine, and serves gRPC and the endpoints for operators
// until the host is to stop or another host has taken over its store.
//
// It has no flags and reads no environment: package cli fills in a [Config]. It imports the faces of a host
// (api/grpcserver, api/probes), host, the stores and package usage. Start reading at host.go.
package serve
